extension StatusPage {
  /// Asks for the page again and puts its main part in place of the one that is shown, every two seconds while it can be
  /// seen. What is open stays open, and a text that somebody selects stays selected.
  static let script: StaticString = """
    (() => {
      "use strict";
      const note = document.getElementById("connection");
      let main = document.querySelector("main"), shown = Date.now(), timer, asking = false;

      const say = text => { note.hidden = !text; if (note.textContent !== text) note.textContent = text; };
      const folded = root => root.querySelectorAll("details[data-entity]");
      const later = () => { clearTimeout(timer); if (!document.hidden) timer = setTimeout(refresh, 2000); };

      function show(page) {
        const next = page.querySelector("main");
        if (!next) throw new Error("no page");
        if (next.dataset.started !== main.dataset.started) { location.reload(); return; }
        shown = Date.now();
        const selection = getSelection();
        if (selection && !selection.isCollapsed && main.contains(selection.anchorNode)) return;
        const open = new Set(), top = scrollY, focus = document.activeElement?.closest("details")?.dataset.entity;
        for (const one of folded(main)) if (one.open) open.add(one.dataset.entity);
        for (const one of folded(next)) one.open = open.has(one.dataset.entity);
        const scrolled = new Map();
        for (const one of folded(main)) scrolled.set(one.dataset.entity, one.querySelector("pre").scrollTop);
        main.replaceWith(document.adoptNode(next));
        main = next;
        for (const one of folded(main)) {
          one.querySelector("pre").scrollTop = scrolled.get(one.dataset.entity) ?? 0;
          if (one.dataset.entity === focus) one.querySelector("summary").focus({ preventScroll: true });
        }
        document.title = page.title;
        scrollTo({ top, behavior: "instant" });
      }

      async function refresh() {
        if (asking) return;
        asking = true;
        try {
          const answer = await fetch(location.pathname, { cache: "no-store", signal: AbortSignal.timeout(10000) });
          if (!answer.ok) throw new Error("status " + answer.status);
          show(new DOMParser().parseFromString(await answer.text(), "text/html"));
          say("");
        } catch {
          say("Connection lost. What is shown is " + Math.round((Date.now() - shown) / 1000) + " s old.");
        } finally {
          asking = false;
          later();
        }
      }

      document.addEventListener("visibilitychange", () => document.hidden ? clearTimeout(timer) : refresh());
      later();
    })();
    """
}
