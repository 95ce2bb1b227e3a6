import SyncEngine
import TestSupport

extension Shape {
  static let all = recorded + others

  static let recorded: [Shape] = [
    Shape(
      folder: "nyt-article-search", paging: "page", entity: NYTArticle.self, api: "nyt",
      routes: [
        Payloads.file(
          "nyt-article-search/articlesearch_2016_page0.json", at: "/articlesearch.json", query: ["page": "0"]),
        Route("/articlesearch.json", body: #"{"response": {"docs": []}}"#),
      ], requests: 2, rows: 10,
      spot: (
        "SELECT headline, section, published, word_count FROM nyt_article WHERE id = '583064487c459f6a5fccef01'",
        "Donald Trump and the U.N.: Signs of Clashing Views on Many Issues | World | 2016-11-19T14:40:00.000Z | 1700"
      )),
    Shape(
      folder: "marvel-characters", paging: "offset", entity: MarvelCharacter.self, api: "marvel",
      routes: Payloads.recorded("marvel-characters", "/v1").map { $0.at("/characters") }, requests: 5,
      rows: 100,
      spot: (
        "SELECT * FROM marvel_character WHERE id = 1009329",
        "1009329 | Ben Grimm | http://i.annihil.us/u/prod/marvel/i/mg/b/40/image_not_available.jpg | 2011-03-18T16:27:31.000Z | 0"
      )),
    Shape(
      folder: "github", paging: "linkHeader", entity: GitHubIssue.self, api: "github",
      routes: Payloads.recorded("github", "/repos/octokit", hosts: ["https://api.github.com"])
        + Payloads.recorded("github", "/repositories/1000", hosts: ["https://api.github.com"]),
      requests: 5, rows: 13,
      spot: (
        "SELECT id, number, state, user, created, closed, is_locked FROM git_hub_issue WHERE id = 1000",
        "1000 | 13 | open | octokit-fixture-user-a | 2017-10-10T16:00:00.000Z | ∅ | 0"
      )),
    Shape(
      folder: "gitlab", paging: "none", entity: GitLabIssue.self, api: "gitlab",
      routes: [Payloads.file("gitlab/issues.json", at: "/issues")], requests: 1, rows: 6,
      spot: (
        "SELECT project_id, title, summary, author, is_closed, updated FROM git_lab_issue WHERE id = 12",
        "3 | Veniam et tempore quidem eum reprehenderit cupiditate non aut velit eaque. | ∅ | John Smith | 0 | 2012-09-17T09:42:20.000Z"
      )),
    Shape(
      folder: "jsonplaceholder", paging: "none", entity: PlaceholderUser.self, api: "placeholder",
      routes: [Payloads.file("jsonplaceholder/users.json", at: "/users")], requests: 1, rows: 10,
      spot: (
        "SELECT name, latitude, longitude, company FROM placeholder_user WHERE id = 10",
        #"Clementina DuBuque | -38.2386 | 57.2232 | {"name":"Hoeger LLC","catchPhrase":"Centralized empowering task-force","bs":"target end-to-end models"}"#
      )),
    Shape(
      folder: "shopify", paging: "linkHeader", entity: ShopifyStock.self, api: "shopify",
      routes: [Payloads.file("shopify/inventory_levels.json", at: "/inventory_levels.json")], requests: 1,
      rows: 4,
      spot: (
        "SELECT * FROM shopify_stock ORDER BY 1, 2",
        """
        39072856 | 487838322 | 27 | 2018-05-07T19:33:38.000Z
        39072856 | 905684977 | 3 | 2018-05-07T19:33:38.000Z
        808950810 | 487838322 | 9 | 2018-05-07T19:33:38.000Z
        808950810 | 905684977 | 1 | 2018-05-07T19:33:38.000Z
        """
      )),
    Shape(
      folder: "slack", paging: "cursor", entity: SlackMember.self, api: "slack",
      routes: Payloads.recorded("slack", "/api/users.list", inOrder: true).map { $0.at("/users.list") },
      requests: 7,
      rows: 35,
      spot: (
        "SELECT * FROM slack_member WHERE id = 'U0J1GAHN1'",
        "U0J1GAHN1 | user-780063 | 0 | 1 | 2017-09-01T00:13:08.000Z | user-780063"
      )),
    Shape(
      folder: "slack", paging: "none, one object", entity: SlackIdentity.self, api: "slack",
      routes: [Payloads.file("slack/auth_test_ok.json", at: "/auth.test")], requests: 1, rows: 1,
      spot: ("SELECT * FROM slack_identity", "U0J1GAHN1 | exampleteam | https://exampleteam.slack.com/ | 0")),
    Shape(
      folder: "jira", paging: "offset", entity: JiraIssue.self, api: "jira",
      routes: [Payloads.file("jira/search_issues.json", at: "/search")], requests: 1, rows: 11,
      spot: (
        "SELECT * FROM jira_issue WHERE id = 10013",
        "10013 | SAMPLEPROJECT-12 | blarg from in example.rb | Open | admin | 2011-12-15T02:34:58.000Z"
      )),
    Shape(
      folder: "hubspot", paging: "cursor", entity: HubSpotContact.self, api: "hubspot",
      routes: [
        Route("/objects/contacts", query: ["after": "1452"], body: #"{"results": []}"#),
        Payloads.file("hubspot/crm_v3_contacts_page1.json", at: "/objects/contacts"),
      ], requests: 2, rows: 25,
      spot: ("SELECT * FROM hub_spot_contact WHERE id = 51", "51 | Name24BC | 2018-04-09T13:17:00.224Z | 0")),
    Shape(
      folder: "notion", paging: "cursor with a flag", entity: NotionBlock.self, api: "notion",
      routes: Payloads.recorded("notion", "/v1/blocks").filter { $0.file?.hasSuffix("_4.json") == false }
        .map { $0.at("/blocks/393abc1e-edcd-814b-aee5-cf69471e5a43/children") }, requests: 3, rows: 5,
      spot: (
        "SELECT type, text, created, has_children FROM notion_block ORDER BY text DESC LIMIT 1",
        "paragraph | paragraph 4 | 2026-07-04T09:25:00.000Z | 0"
      )),
    Shape(
      folder: "twitter-v2", paging: "cursor", entity: TwitterFollower.self, api: "twitter",
      routes: [
        Route(
          "/users/783214/followers", query: ["pagination_token": "5CS0O0C6II61EZZZ"],
          body: #"{"data": [], "meta": {}}"#),
        Payloads.file("twitter-v2/followers_page1.json", at: "/users/783214/followers"),
      ], requests: 2, rows: 100,
      spot: (
        "SELECT * FROM twitter_follower WHERE id = 1381809756931682304",
        "1381809756931682304 | user-31c556 | user-a97967"
      )),
    Shape(
      folder: "odata-v4", paging: "next", entity: ODataPerson.self, api: "odata",
      routes: [
        Payloads.file(
          "odata-v4/TripPin_People_page1_with_utf8_bom.json", at: "/People",
          hosts: ["https://services.odata.org"]),
        Route(
          "/V4/(S(4taa1h2202lz2pi2bpqff3uy))/TripPinServiceRW/People", query: ["$skiptoken": "20"],
          body: #"{"value": []}"#),
      ], requests: 2, rows: 20,
      spot: (
        "SELECT user_name, first_name, emails, city, concurrency FROM o_data_person WHERE user_name = 'russellwhyte'",
        #"russellwhyte | Russell | ["Russell@example.com","Russell@contoso.com"] | Boise | 636674848060804805"#
      )),
    Shape(
      folder: "hal-mollie", paging: "next", entity: MollieCustomer.self, api: "mollie",
      routes: Payloads.recorded("hal-mollie", "/v2/customers", hosts: ["https://api.mollie.com"])
        + Payloads.recorded("hal-mollie", "/v2/customers?limit", hosts: ["https://api.mollie.com"]).map {
          $0.at("/customers")
        },
      requests: 4, rows: 17,
      spot: (
        "SELECT * FROM mollie_customer WHERE id = 'cst_gNvaNJAerm'",
        "cst_gNvaNJAerm | Mr. First Customer | test | 2018-07-17T11:44:47.000Z"
      )),
    Shape(
      folder: "jsonapi-appstoreconnect", paging: "next", entity: AppStoreBuild.self, api: "appstoreconnect",
      routes: [
        Route(
          "/iris/v1/builds", query: ["cursor": "Ag.GYoEMQ"], body: #"{"data": [], "links": {"next": null}}"#),
        Payloads.file(
          "jsonapi-appstoreconnect/builds.json", at: "/builds", hosts: ["https://appstoreconnect.apple.com"]),
      ], requests: 2, rows: 2,
      spot: (
        "SELECT version, uploaded, is_expired FROM app_store_build WHERE id = '123456789'",
        "225 | 2019-05-01T00:16:21.000Z | 0"
      )),
    Shape(
      folder: "jsonapi-datacite", paging: "next", entity: DataCiteClient.self, api: "datacite",
      routes: [
        Route("/clients", query: ["page[number]": "2"], body: #"{"data": [], "links": {}}"#),
        Payloads.file(
          "jsonapi-datacite/clients_page1.json", at: "/clients", hosts: ["https://api.datacite.org"]),
      ], requests: 2, rows: 5,
      spot: (
        "SELECT * FROM data_cite_client WHERE id = 'gesis.rki'",
        "gesis.rki | 'Health Monitoring' Research Data Centre at the Robert Koch Institute | GESIS.RKI | 2012"
      )),
    Shape(
      folder: "elasticsearch", paging: "offset", entity: ElasticHit.self, api: "elasticsearch",
      routes: [Payloads.file("elasticsearch/search_es1_total_int.json", at: "/lexicon/_search")], requests: 1,
      rows: 6,
      spot: (
        "SELECT score, utterance, orthography FROM elastic_hit WHERE id = 'd3bf748b16ac4054680f27a6401c757e'",
        "3.5731466 | ar minda | არ მინდა"
      )),
    Shape(
      folder: "swapi", paging: "next", entity: SwapiPerson.self, api: "swapi",
      routes: Payloads.recorded("swapi", "/api/people/", hosts: ["https://swapi.dev"])
        + Payloads.recorded("swapi", "/api/people/", hosts: ["https://swapi.dev"]).filter { $0.query == [:] }
        .map { $0.at("/people/") },
      requests: 9, rows: 82,
      spot: (
        "SELECT name, height, substr(films, -15), created FROM swapi_person WHERE url LIKE '%/people/83/'",
        #"Tion Medon | 206 | /api/films/6/"] | 2014-12-20T20:35:04.260Z"#
      )),
    Shape(
      folder: "pokeapi", paging: "none, keyed by id", entity: PokeBerry.self, api: "pokeapi",
      routes: [Payloads.file("pokeapi/berry_details_by_id.json", at: "/berries")], requests: 1, rows: 68,
      spot: ("SELECT * FROM poke_berry WHERE id = 68", "68 | roseli | roseli-berry | ∅")),
    Shape(
      folder: "rick-and-morty", paging: "next", entity: RickAndMortyCharacter.self, api: "rickandmorty",
      routes: Payloads.recorded("rick-and-morty", "/api/character", hosts: ["https://rickandmortyapi.com"])
        + [
          Payloads.file(
            "rick-and-morty/character_page1.json", at: "/character", hosts: ["https://rickandmortyapi.com"])
        ],
      requests: 4, rows: 66,
      spot: (
        "SELECT id, name, status, origin, created FROM rick_and_morty_character WHERE id = 826",
        "826 | Butter Robot | Alive | Earth (Replacement Dimension) | 2021-11-02T17:24:37.458Z"
      )),
    Shape(
      folder: "open-library", paging: "page with a total", entity: OpenLibraryWork.self, api: "openlibrary",
      routes: [Payloads.file("open-library/search_mistborn.json", at: "/search.json")], requests: 1, rows: 15,
      spot: (
        "SELECT * FROM open_library_work WHERE key IN ('/works/OL5738148W', '/works/OL25366824W') ORDER BY key DESC",
        """
        /works/OL5738148W | The Final Empire (Mistborn, Book 1) | 2001 | ["Brandon Sanderson"] | https://covers.openlibrary.org/b/id/524535-M.jpg
        /works/OL25366824W | Aleación de Ley (Nacidos de la Bruma [Mistborn] 4) | 2012 | ["Brandon Sanderson"] | ∅
        """
      )),
    Shape(
      folder: "usgs-earthquakes", paging: "none", entity: Earthquake.self, api: "usgs",
      routes: [Payloads.file("usgs-earthquakes/all_day.geojson", at: "/all_day.geojson")], requests: 1,
      rows: 151,
      spot: (
        "SELECT * FROM earthquake WHERE id = 'nn00565265'",
        "nn00565265 | 0.1 | 20km NW of Hawthorne, Nevada | 2016-11-02T18:56:51.327Z | ∅ | -118.7829 | 9.2 | 0"
      )),
    Shape(
      folder: "mastodon", paging: "linkHeader", entity: MastodonStatus.self, api: "mastodon",
      routes: Payloads.recorded("mastodon", "/api/v1", hosts: ["http://localhost:3000"])
        + Payloads.recorded("mastodon", "/api/v1", hosts: ["http://localhost:3000"])
        .map { $0.at("/timelines/tag/fgiztsshwiaqqiztpmmjbtvmescsculuvmgjgopwoeidbcrixp") },
      requests: 4, rows: 30,
      spot: (
        "SELECT id, created, is_sensitive, visibility, account FROM mastodon_status WHERE id = 117020581178804515",
        "117020581178804515 | 2026-08-01T13:52:44.180Z | 0 | public | mastodonpy_test_2"
      )),
    Shape(
      folder: "kubernetes", paging: "cursor", entity: KubernetesPod.self, api: "kubernetes",
      routes: Payloads.recorded("kubernetes", "/api/v1/pods").map { $0.at("/pods") }, requests: 2, rows: 4,
      spot: (
        "SELECT name, phase, created, labels FROM kubernetes_pod WHERE uid = '0c478b50-babb-11e8-ba7e-d094660d31fb'",
        #"my-ruby-project-2-build | Failed | 2018-09-17T20:48:36.000Z | {"openshift.io/build.name":"my-ruby-project-2"}"#
      )),
    Shape(
      folder: "socrata-soda", paging: "offset", entity: BicycleCount.self, api: "socrata",
      routes: Payloads.recorded("socrata-soda", "/resource").map { $0.at("/bike-counts.json") }, requests: 2,
      rows: 1001,
      spot: (
        "SELECT * FROM bicycle_count WHERE date = '2016-10-02T01:45:00.000Z'",
        "100009424 | 2016-10-02T01:45:00.000Z | 3 | 0"
      )),
    Shape(
      folder: "couchdb", paging: "none", entity: CouchDocument.self, api: "couchdb",
      routes: [Payloads.file("couchdb/all_docs_1.json", at: "/db/_all_docs")], requests: 1, rows: 5,
      spot: (
        "SELECT revision FROM couch_document WHERE id = 'f4ca7773ddea715afebc4b4b15d4f0b3'",
        "2-7051cbe5c8faecd085a3fa619e6e6337"
      )),
    Shape(
      folder: "rec-datasette", paging: "next", entity: DatasetteItem.self, api: "datasette",
      routes: Payloads.recorded(
        "rec-datasette", "/ds/items.json?_size=40&_shape=objects", hosts: ["http://127.0.0.1:18001"])
        + [
          Payloads.file(
            "rec-datasette/items_objects_page1.json", at: "/items.json", hosts: ["http://127.0.0.1:18001"])
        ], requests: 3, rows: 120,
      spot: (
        "SELECT * FROM datasette_item WHERE id = 100000",
        #"100000 | épsilon 東京 "quoted" épsilon | ∅ | 1.947 | 1 | 9007199254840993 | 2025-01-13T16:40:40.000Z"#
      )),
    Shape(
      folder: "rec-drf", paging: "page with a total", entity: DRFBook.self, api: "drf",
      routes: Payloads.recorded("rec-drf", "/api/page").map { $0.at("/books/") }, requests: 3, rows: 200,
      spot: (
        "SELECT id, title, price, published, created, rating = 3.5316177618325426, extra, big FROM drf_book WHERE id = 200",
        #"200 | Book 200 ÄÖ 東京 | 211.64 | 1990-07-20T00:00:00.000Z | 2024-01-01T00:01:06.000Z | 1 | {"tags":["t0"],"pages":200} | 9007199254741192"#
      )),
    Shape(
      folder: "rec-drf", paging: "next", entity: DRFCursorBook.self, api: "drf",
      routes: Payloads.recorded("rec-drf", "/api/cursor", hosts: ["http://127.0.0.1:18003"])
        + Payloads.recorded("rec-drf", "/api/cursor/books/?page_size", hosts: ["http://127.0.0.1:18003"]).map
      { $0.at("/books/") },
      requests: 3, rows: 200,
      spot: (
        "SELECT * FROM drf_cursor_book WHERE id = 143", "143 | ∅ | 9007199254741135"
      )),
    Shape(
      folder: "rec-odata", paging: "next", entity: ODataProduct.self, api: "products",
      routes: Payloads.recorded("rec-odata", "/Products?$count", hosts: ["http://127.0.0.1:18007"]),
      requests: 3, rows: 250,
      spot: (
        "SELECT * FROM o_data_product WHERE id = 250",
        "250 | Product 250 ü | 62.5 | 9007199254741242 | 2020-09-07T00:00:00.000Z | 2024-01-01T00:04:10.000Z | 1"
      )),
    Shape(
      folder: "rec-pocketbase", paging: "page with a total", entity: PocketBaseItem.self, api: "pocketbase",
      routes: Payloads.recorded("rec-pocketbase", "/api/collections/items").map {
        $0.at("/collections/items/records")
      },
      requests: 4, rows: 130,
      spot: (
        "SELECT *, (SELECT count(*) FROM pocket_base_item WHERE day IS NULL) FROM pocket_base_item WHERE n = 130",
        "ggqvojg9whdo1n5 | 130 | Title 130 ñ | 2024-05-19T00:00:00.000Z | 1 | 16.25 | 2026-11-30T02:08:44.688Z | 32"
      )),
  ]
}

extension Route {
  /// The same answer at another path: the test's API has no base path of its own.
  func at(_ path: String) -> Route {
    var copy = self
    copy.path = path
    return copy
  }
}
