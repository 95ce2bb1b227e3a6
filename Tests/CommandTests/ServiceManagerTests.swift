import Foundation
import TestSupport
import Testing

@testable import SyncCommand

/// What systemd hears, by a socket in its place.
@Suite("The service manager", .fewAtATime)
struct ServiceManagerTests {
  @Test("each message is a datagram of its own, to a path and to an abstract name", arguments: [true, false])
  func messages(isAbstract: Bool) throws {
    let folder = try TemporaryFolder()
    let name = isAbstract ? "@syncd-\(UUID().uuidString)" : folder.path + "/notify"
    let socket = try ReceivingSocket(name)
    let manager = ServiceManager(environment: [
      "NOTIFY_SOCKET": name, "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "\(getpid())",
    ])
    #expect(manager.watchdogInterval == .milliseconds(1500))
    manager.ready()
    manager.status("2 entities\nin sync \u{1B}[31m")
    manager.status("2 entities\nin sync \u{1B}[31m")
    manager.status(String(repeating: "é", count: 500))
    manager.watchdog()
    manager.reloading()
    manager.stopping()
    #expect(try socket.text() == "READY=1")
    #expect(try socket.text() == "STATUS=2 entities in sync  [31m")
    #expect(try socket.text() == "STATUS=" + String(repeating: "é", count: 200))
    #expect(try socket.text() == "WATCHDOG=1")
    let reloading = try socket.text()
    #expect(try #/RELOADING=1\nMONOTONIC_USEC=[0-9]{6,}/#.wholeMatch(in: reloading) != nil, "\(reloading)")
    #expect(try socket.text() == "STOPPING=1")
    #expect(socket.isEmpty)
  }

  @Test("a manager that does not read is never waited for, and misses no change of state")
  func fullBuffer() throws {
    let name = "@syncd-\(UUID().uuidString)"
    let socket = try ReceivingSocket(name)
    let manager = ServiceManager(environment: ["NOTIFY_SOCKET": name])
    // More than any queue of datagrams holds.
    for number in 1...2000 { manager.status("\(number)") }
    manager.ready()
    manager.stopping()
    manager.watchdog()
    var last = ""
    while !socket.isEmpty { last = try socket.text() }
    #expect(last.hasPrefix("STATUS="))
    #expect(last != "STATUS=2000")
    manager.status("2000")
    #expect(try [socket.text(), socket.text(), socket.text()] == ["READY=1", "STOPPING=1", "STATUS=2000"])
    #expect(socket.isEmpty)
  }

  @Test(
    "without a manager nothing happens",
    arguments: [
      [:], ["NOTIFY_SOCKET": ""], ["NOTIFY_SOCKET": "@"], ["NOTIFY_SOCKET": "/nowhere/at/all"],
      ["NOTIFY_SOCKET": "relative"], ["NOTIFY_SOCKET": "vsock:2:1234"],
      ["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)],
    ])
  func absent(environment: [String: String]) {
    let manager = ServiceManager(environment: environment)
    for _ in 1...20 { manager.ready() }
    manager.status("fine")
    manager.watchdog()
    manager.stopping()
  }

  @Test(
    "the watchdog of another process is not ours, and an interval has to be one",
    arguments: [
      ["WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"], ["WATCHDOG_USEC": "0"], ["WATCHDOG_USEC": "-5"],
      ["WATCHDOG_USEC": "soon"], [:],
    ])
  func foreignWatchdog(environment: [String: String]) {
    let all = environment.merging(["NOTIFY_SOCKET": "@syncd-nobody"]) { $1 }
    #expect(ServiceManager(environment: all).watchdogInterval == nil)
    #expect(ServiceManager(environment: ["WATCHDOG_USEC": "1000000"]).watchdogInterval == nil)
  }
}
