// swift-tools-version: 6.0
import PackageDescription

// The floors: a target may depend only on targets of a lower floor.
//   1  system libraries and the simdjson shim     4  stores
//   2  JSON, HTTP, WebServer                       5  the command line
//   3  SyncEngine                                  6  the executable
let package = Package(
  name: "syncd",
  products: [
    .executable(name: "syncd", targets: ["syncd"]),
    .library(name: "JSON", targets: ["JSON"]),
    .library(name: "SyncEngine", targets: ["SyncEngine"]),
    .library(name: "SQLiteStore", targets: ["SQLiteStore"]),
    .library(name: "PostgresStore", targets: ["PostgresStore"]),
    .library(name: "SyncCommand", targets: ["SyncCommand"]),
  ],
  targets: [
    // Floor 1
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .systemLibrary(
      name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
    .systemLibrary(
      name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
    .systemLibrary(
      name: "CXML", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"]), .brew(["libxml2"])]),
    .systemLibrary(
      name: "CCompression", pkgConfig: "libbrotlidec",
      providers: [
        .apt(["zlib1g-dev", "libbrotli-dev", "libzstd-dev"]), .brew(["zlib", "brotli", "zstd"]),
      ]),
    .systemLibrary(
      name: "CMicrohttpd", pkgConfig: "libmicrohttpd",
      providers: [.apt(["libmicrohttpd-dev"]), .brew(["libmicrohttpd"])]),
    .systemLibrary(name: "CMalloc"),
    .systemLibrary(name: "CSystem"),
    .target(
      name: "CSimdJSON",
      cxxSettings: [.define("NDEBUG")],
      linkerSettings: [.linkedLibrary("simdjson")]),

    // Floor 2
    .target(name: "JSON", dependencies: ["CSimdJSON"]),
    .target(name: "HTTP", dependencies: ["CCurl", "CCompression"]),
    .target(name: "WebServer", dependencies: ["CMicrohttpd"]),

    // Floor 3
    .target(name: "SyncEngine", dependencies: ["JSON", "HTTP", "CCrypto", "CXML", "CSystem"]),

    // Floor 4
    .target(name: "SQLiteStore", dependencies: ["SyncEngine", "CSQLite", "CCompression"]),
    .target(name: "PostgresStore", dependencies: ["SyncEngine", "JSON", "HTTP", "CPostgres"]),

    // Floor 5
    .target(
      name: "SyncCommand", dependencies: ["SyncEngine", "HTTP", "WebServer", "CMalloc", "CSystem"]),

    // Floor 6
    .executableTarget(name: "syncd", dependencies: ["SyncCommand", "SQLiteStore", "PostgresStore"]),

    // Tests
    .target(
      name: "TestSupport",
      dependencies: ["SyncEngine", "SQLiteStore", "PostgresStore", "CSQLite", "CPostgres"],
      path: "Tests/TestSupport"),
    .testTarget(
      name: "UnitTests",
      dependencies: ["JSON", "HTTP", "SyncEngine", "SQLiteStore", "TestSupport", "CaseEntities"]),
    .testTarget(name: "StoreTests", dependencies: ["HTTP", "SyncEngine", "SQLiteStore", "TestSupport"]),
    .testTarget(
      name: "CommandTests",
      dependencies: ["TestSupport", "SyncCommand", "SyncEngine", "WebServer", "syncd", "CaseEntities"],
      exclude: ["Shells"]),
    .testTarget(
      name: "WatchTests", dependencies: ["SyncCommand", "SyncEngine", "TestSupport", "syncd", "CaseEntities"]),
    .testTarget(name: "SeedTests", dependencies: ["syncd", "TestSupport"]),
    .testTarget(name: "PayloadTests", dependencies: ["JSON", "TestSupport"]),
    .testTarget(name: "KillTests", dependencies: ["HTTP", "TestSupport", "CaseEntities"]),
    .testTarget(
      name: "PostgresTests",
      dependencies: ["HTTP", "SyncEngine", "SQLiteStore", "PostgresStore", "TestSupport", "CaseEntities"]),
    .testTarget(name: "PackageTests", dependencies: ["TestSupport"]),
    .testTarget(name: "ServerTests", dependencies: ["HTTP", "SyncEngine", "SQLiteStore", "TestSupport"]),
    .testTarget(
      name: "PropertyTests", dependencies: ["JSON", "SyncEngine", "TestSupport"], exclude: ["oracle.py"]),
    .executableTarget(
      name: "CaseEntities", dependencies: ["SyncCommand", "SQLiteStore", "PostgresStore"],
      path: "Tests/CaseEntities"),
    .executableTarget(
      name: "BenchEntities", dependencies: ["SyncCommand", "SQLiteStore", "PostgresStore"],
      path: "Tests/Bench/Entities"),
    .executableTarget(
      name: "GrowthSimulation", dependencies: ["SyncCommand", "SyncEngine", "PostgresStore"],
      path: "Tests/Growth"),
    .executableTarget(
      name: "WorkerEntities", dependencies: ["SyncCommand", "PostgresStore"], path: "Tests/Workers/Entities"),
  ],
  swiftLanguageModes: [.v6],
  cxxLanguageStandard: .cxx17
)

// Scripts/fuzz alone builds the fuzzer, with compiler flags of its own.
if Context.environment["SYNCD_FUZZ"] == "1" {
  package.targets.append(
    .executableTarget(
      name: "FuzzRecords", dependencies: ["JSON", "SyncEngine"], path: "Tests/Fuzz",
      exclude: ["Corpus", "Fixtures", "json.dict"]))
}
