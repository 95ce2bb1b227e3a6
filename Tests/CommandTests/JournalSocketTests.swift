import Foundation
import TestSupport
import Testing

@testable import SyncCommand

/// What systemd's journal hears, by a socket in its place.
@Suite("The journal", .fewAtATime)
struct JournalSocketTests {
  private let folder: TemporaryFolder
  private let socket: ReceivingSocket
  private let journal: JournalSocket

  init() throws {
    folder = try TemporaryFolder()
    socket = try ReceivingSocket(folder.path + "/socket")
    journal = try #require(JournalSocket(path: folder.path + "/socket"))
  }

  @Test("one line is NAME=value; a name that the journal would not keep is left out")
  func fields() throws {
    let long = String(repeating: "A", count: 65)
    #expect(
      journal.send(
        priority: 3, message: "book: grüße ✓",
        fields: [
          ("SYNCD_ENTITY", "book"), ("_PID", "1"), ("lower", "x"), ("", "x"), ("A=B", "x"), ("1A", "x"),
          (long, "x"),
          ("A1", ""),
        ]))
    #expect(try socket.text() == "MESSAGE=book: grüße ✓\nPRIORITY=3\nSYNCD_ENTITY=book\nA1=\n")
  }

  @Test("a value of several lines has its length in front, so that it cannot begin a field")
  func lines() throws {
    #expect(journal.send(priority: 9, message: "a\nPRIORITY=0", fields: []))
    let expected =
      Array("MESSAGE\n".utf8) + [12, 0, 0, 0, 0, 0, 0, 0] + Array("a\nPRIORITY=0\nPRIORITY=7\n".utf8)
    #expect(try socket.receive().bytes == expected)
  }

  @Test("a message of 1 MB comes as a sealed file")
  func large() throws {
    let message = String(repeating: "0123456789abcde ", count: 1 << 16)
    #expect(journal.send(priority: 6, message: message, fields: [("SYNCD_ENTITY", "book")]))
    let (bytes, isSealed) = try socket.receive()
    #expect(isSealed)
    #expect(String(decoding: bytes, as: UTF8.self) == "MESSAGE=\(message)\nPRIORITY=6\nSYNCD_ENTITY=book\n")
  }

  @Test("a journal that takes nothing, or is gone, is said so and does not hold up the program for long")
  func unheard() throws {
    var taken = 0
    while taken < 10_000, journal.send(priority: 6, message: "m", fields: []) { taken += 1 }
    #expect(taken > 0 && taken < 10_000)
    #expect(try socket.text() == "MESSAGE=m\nPRIORITY=6\n")
    #expect(journal.send(priority: 6, message: "again", fields: []))
    unlink(folder.path + "/socket")
    #expect(!journal.send(priority: 6, message: "m", fields: []))
    #expect(JournalSocket(path: folder.path + "/socket") == nil)
    #expect(JournalSocket(path: folder.path) == nil)
  }
}
