extension StatusPage {
  static let style: StaticString = """
    :root {
      color-scheme: light dark;
      --paper: #fcfcfb; --text: #1c1e21; --quiet: #63686f; --line: #e3e4e2; --soft: #f2f2ef;
      --ok: #18794e; --run: #1d5fbf; --bad: #b42318; --warn: #8a5800; --time: #8e959e;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --paper: #141619; --text: #e4e6e8; --quiet: #9aa1a9; --line: #2a2e33; --soft: #1c1f23;
        --ok: #5cc98f; --run: #80b3ff; --bad: #ff8f85; --warn: #e5b454; --time: #737b85;
      }
    }
    * { box-sizing: border-box; margin: 0; }
    body {
      background: var(--paper); color: var(--text);
      font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
      font-variant-numeric: tabular-nums; overflow-wrap: anywhere; -webkit-text-size-adjust: 100%;
    }
    main { max-width: 76rem; margin: 0 auto; padding: 2rem 1.5rem 3rem; }
    h1 { font-size: 1.5rem; font-weight: 650; letter-spacing: -.01em; line-height: 1.2; }
    h2 { font-size: 1.05rem; font-weight: 650; line-height: 1.35; }
    small, dt, figcaption, .from, footer, .about { color: var(--quiet); font-size: .8125rem; }
    b { font-weight: 600; }
    a { color: inherit; text-underline-offset: .15em; }
    :focus-visible { outline: 2px solid var(--run); outline-offset: 2px; }
    header { display: grid; gap: .35rem 2rem; padding-bottom: 1.5rem; }
    .sum { font-size: 1.0625rem; }
    .about span { display: inline-block; }
    .about span:not(:last-child)::after { content: " ·"; }
    .alarm { color: var(--bad); font-weight: 600; }
    #connection {
      position: sticky; top: 0; z-index: 1; padding: .5rem 1.5rem; text-align: center;
      background: var(--bad); color: var(--paper); font-weight: 600;
    }
    #connection[hidden] { display: none; }
    article {
      --state: var(--quiet);
      display: grid; grid-template-columns: minmax(9rem, 1.1fr) minmax(19rem, 1.6fr) 11.5rem 11.5rem;
      gap: .75rem 2rem; align-items: start; padding: 1.1rem 0; border-top: 1px solid var(--line);
    }
    .ok { --state: var(--ok); }
    .running { --state: var(--run); }
    .failing { --state: var(--bad); }
    .refused { --state: var(--warn); }
    .who { display: grid; grid-template-columns: auto 1fr; gap: 0 .75rem; align-items: baseline; }
    .from { grid-column: 1 / -1; }
    .state { color: var(--state); font-weight: 600; font-size: .875rem; white-space: nowrap; }
    .state::before {
      content: ""; display: inline-block; width: .5rem; height: .5rem; margin-right: .4rem; border-radius: 50%;
      background: var(--state);
    }
    .waiting .state::before { background: none; border: 1.5px solid var(--state); }
    .failing .state::before, .refused .state::before { border-radius: 1px; }
    dl { display: grid; grid-template-columns: 1.35fr 1fr .9fr; gap: 0 1rem; }
    dt { line-height: 1.55rem; }
    dd small { display: block; }
    .late { color: var(--warn); font-weight: 600; }
    figcaption { line-height: 1.55rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
    figure { min-width: 0; }
    figcaption b { color: var(--text); }
    figcaption b[class] { margin-right: .25em; }
    svg { display: block; width: 100%; height: 33px; }
    path { stroke-width: 3; fill: none; stroke: var(--time); }
    path.base { stroke-width: 1; stroke: var(--line); }
    path.bad, path.deleted { stroke: var(--bad); }
    path.inserted { stroke: var(--ok); }
    path.updated { stroke: var(--run); }
    figcaption .inserted { color: var(--ok); }
    figcaption .updated { color: var(--run); }
    figcaption .deleted { color: var(--bad); }
    .progress, .error, .note { grid-column: 1 / -1; font-size: .875rem; }
    .progress { color: var(--quiet); }
    progress { width: 9rem; height: .5rem; margin-right: .5rem; accent-color: var(--run); vertical-align: baseline; }
    .error { border-left: 3px solid var(--state); padding: .3rem 0 .3rem .75rem; }
    .error b { color: var(--state); }
    .note { color: var(--quiet); }
    summary { cursor: pointer; }
    pre {
      margin-top: .5rem; padding: .75rem; max-height: 24rem; overflow: auto; white-space: pre-wrap;
      background: var(--soft); border-radius: 4px; font: .8125rem/1.5 ui-monospace, Menlo, Consolas, monospace;
    }
    footer { border-top: 1px solid var(--line); padding-top: 1rem; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
    @media (max-width: 66rem) {
      article { grid-template-columns: 1fr 1fr; }
      .who, dl { grid-column: 1 / -1; }
    }
    @media (max-width: 34rem) {
      main { padding: 1.25rem 1rem 2rem; }
      article { gap: .6rem 1.25rem; }
      dl { gap: 0 .75rem; }
    }
    """
}
