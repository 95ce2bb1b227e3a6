import JSON
import TestSupport
import Testing

@testable import SyncEngine

@Suite("XML", .once)
struct XMLTextTests {
  @Test(
    "elements, attributes and text by the convention",
    arguments: [
      ("<a>x</a>", #"{"a":"x"}"#),
      ("<a/>", #"{"a":""}"#), ("<a></a>", #"{"a":""}"#), ("<a> x\n</a>", #"{"a":" x\u000a"}"#),
      ("<a b=\"1\"/>", ##"{"a":{"@b":"1","#text":""}}"##),
      ("<a b='1'>x</a>", ##"{"a":{"@b":"1","#text":"x"}}"##),
      ("<a><b>1</b><b>2</b><c/></a>", #"{"a":{"b":["1","2"],"c":""}}"#),
      ("<a><b>1</b><c/><b>2</b></a>", #"{"a":{"b":["1","2"],"c":""}}"#),
      ("<a>\n  <b>1</b>\n</a>", #"{"a":{"b":"1"}}"#),
      ("<a>x<b>1</b>y</a>", ##"{"a":{"#text":"xy","b":"1"}}"##),
      ("<a><![CDATA[<&>]]> &lt;&amp;&#233;&#x65E5;</a>", #"{"a":"<&> <&é日"}"#),
      ("<a>1<!-- no -->2<?pi no?></a>", #"{"a":"12"}"#),
      ("<a>\"\\</a>", #"{"a":"\"\\"}"#),
      (
        "<x:a xmlns:x=\"urn:1\" xmlns=\"urn:2\" x:k=\"v\"><b/><x:b/></x:a>",
        #"{"x:a":{"@x:k":"v","b":"","x:b":""}}"#
      ),
      ("<a><\u{E9}/><e\u{301}/></a>", "{\"a\":{\"\u{E9}\":\"\",\"e\u{301}\":\"\"}}"),
      ("<x:a y:k=\"v\"/>", ##"{"x:a":{"@y:k":"v","#text":""}}"##),
      ("<a xmlns=\"urn:1\">x</a>", #"{"a":"x"}"#),
      ("<a b=\"&lt;&#10;x\"/>", ##"{"a":{"@b":"<\u000ax","#text":""}}"##),
      ("\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!-- c --><a/>\n<!-- d -->", #"{"a":""}"#),
      ("<!DOCTYPE a><a/>", #"{"a":""}"#),
      ("<!DOCTYPE a SYSTEM \"http://127.0.0.1:1/a.dtd\"><a/>", #"{"a":""}"#),
    ])
  func convention(body: String, text: String) throws { #expect(try read(body, .xml()) == text) }

  @Test("the records are a list however many there are, in a parent that is there")
  func rows() throws {
    func text(_ body: String, _ rows: Rows = "f.e") throws -> String { try read(body, .xml(), rows: rows) }
    #expect(try text("<f><e>1</e></f>") == #"{"f":{"e":["1"]}}"#)
    #expect(try text("<f><e>1</e><e>2</e></f>") == #"{"f":{"e":["1","2"]}}"#)
    #expect(try text("<f/>") == #"{"f":{"e":[]}}"#)
    #expect(try text("<f v=\"1\"> </f>") == #"{"f":{"@v":"1","e":[]}}"#)
    #expect(try text("<f><t/></f>") == #"{"f":{"t":"","e":[]}}"#)
    // Elsewhere the same name is as it comes.
    #expect(try text("<f><e><e>1</e></e></f>") == #"{"f":{"e":[{"e":"1"}]}}"#)
    #expect(try text("<g/>") == #"{"g":""}"#)
    #expect(try text("<f/>", "f.g.e") == #"{"f":""}"#)
    #expect(try text("<e>1</e>", "e") == #"{"e":["1"]}"#)
    #expect(try text("<f><e>1</e></f>", "f.e[*].x") == #"{"f":{"e":["1"]}}"#)
    #expect(try text("<f><e>1</e></f>", .object("f.e")) == #"{"f":{"e":"1"}}"#)
  }

  @Test("lists, elements by an attribute, attributes that are passed over")
  func options() throws {
    #expect(
      try read("<a><b>1</b><c><b>2</b></c></a>", .xml(lists: ["b"])) == #"{"a":{"b":["1"],"c":{"b":["2"]}}}"#)
    #expect(
      try read(
        "<a><l rel=\"self\" h=\"1\"/><l rel=\"next\" h=\"2\"/><l h=\"3\"/><l rel=\"self\" h=\"4\"/></a>",
        .xml(keyed: ["l": "rel"], ignoring: []))
        == ##"{"a":{"l":{"self":[{"@rel":"self","@h":"1","#text":""},{"@rel":"self","@h":"4","#text":""}],"next":{"@rel":"next","@h":"2","#text":""},"":{"@h":"3","#text":""}}}}"##
    )
    #expect(
      try read("<a><b t=\"int\">1</b><b t=\"int\" u=\"m\">2</b></a>", .xml(ignoring: ["t"]))
        == ##"{"a":{"b":["1",{"@u":"m","#text":"2"}]}}"##)
  }

  @Test("what the standards mark as null is null")
  func nulls() throws {
    let schema = "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\""
    #expect(
      try read("<a \(schema)><b xsi:nil=\"true\"/><c xsi:nil=\"1\" x=\"y\"/></a>", .xml())
        == #"{"a":{"b":null,"c":null}}"#)
    #expect(
      try read("<a \(schema) xsi:nil=\"false\">x</a>", .xml()) == ##"{"a":{"@xsi:nil":"false","#text":"x"}}"##
    )
    #expect(
      try read(
        "<a xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><b m:null=\"true\"/></a>",
        .xml())
        == #"{"a":{"b":null}}"#)
    #expect(try read("<a null=\"true\"/>", .xml()) == ##"{"a":{"@null":"true","#text":""}}"##)
  }

  @Test(
    "what is not one well-formed document is an error with its line",
    arguments: [
      ("<a>", "line 1: "), ("<a>\n<b></a>", "line 2: Opening and ending tag mismatch: b line 2 and a"),
      ("<a/><b/>", "line 1: Extra content at the end of the document"), ("<a/>x", "line 1: Extra content"),
      ("<a b=\"1\" b=\"2\"/>", "line 1: Attribute b redefined"),
      ("<a>&nbsp;</a>", "line 1: Entity 'nbsp' not defined"),
      ("<a b=c/>", "line 1: "), ("<a>\u{1}</a>", "line 1: "),
      ("{\"a\":1}", "line 1: Start tag expected"), ("<!-- x -->", "line 1: "),
    ])
  func faults(body: String, reason: String) throws {
    let message = try read(body, .xml())
    #expect(message.hasPrefix("the body is not XML (HTTP 200): \(reason)"), "\(message)")
  }

  @Test("cut at any byte, a document is an error")
  func truncations() throws {
    let body = Array(
      "<?xml version=\"1.0\"?>\n<f v=\"1\"><e k='é'>a&amp;b</e><!-- c --><e><![CDATA[x]]></e></f>".utf8)
    #expect(try read(body, .xml(), rows: "f.e").hasPrefix("{"))
    for end in 0..<body.count {
      let text = try read(Array(body[..<end]), .xml(), rows: "f.e")
      #expect(text.hasPrefix("the body is "), "cut at \(end): \(text)")
    }
  }

  @Test("entities of a document's own are refused, whatever they lead to")
  func entities() throws {
    let laughs =
      "<!DOCTYPE l [<!ENTITY l0 \"ha\">"
      + (1..<12).map { "<!ENTITY l\($0) \"\(String(repeating: "&l\($0 - 1);", count: 10))\">" }.joined()
      + "]><l>&l11;</l>"
    let quadratic =
      "<!DOCTYPE l [<!ENTITY x \"\(String(repeating: "x", count: 100_000))\">]><l>\(String(repeating: "&x;", count: 50_000))</l>"
    for body in [
      laughs, quadratic,
      "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>",
      "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a b=\"1\"/>",
      "<!DOCTYPE a [<!ENTITY x \"y\">]><a b=\"&x;\"/>",
      "<!DOCTYPE a [<!ENTITY % p SYSTEM \"http://127.0.0.1:1/p.dtd\"> %p;]><a/>",
      "<!DOCTYPE a [<!ENTITY % p \"<!ENTITY x 'y'>\"> %p;]><a>&x;</a>",
    ] {
      let message = try read(body, .xml())
      #expect(
        message.hasPrefix("the body is not XML (HTTP 200): it declares entities, which are not read"),
        "\(message)")
    }
    // Neither is an undeclared one of an external subset made up.
    let outside = try read("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a>&x;</a>", .xml())
    #expect(outside.hasPrefix("the body is not XML"), "\(outside)")
  }

  @Test("depth and size have limits that are errors")
  func limits() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
    }
    #expect(try read(nested(200), .xml(lists: ["a"])).hasPrefix("{"))
    let deep = try read(nested(300), .xml())
    #expect(deep.contains("Excessive depth in document: 256"), "\(deep)")
    let field = String(repeating: "é", count: 1 << 19)
    let long = try JSONDocument.parse(Array(read("<a b=\"\(field)\">\(field)</a>", .xml()).utf8)).root["a"]
    #expect(long?["@b"]?.string == field && long?["#text"]?.string == field)
    let huge = try read("<a>\(String(repeating: "x", count: 11_000_000))</a>", .xml())
    #expect(huge.hasPrefix("the body is not XML"))
    let wide = "<a>" + (0..<10_000).map { "<c\($0)>x</c\($0)>" }.joined() + "</a>"
    #expect(try JSONDocument.parse(Array(read(wide, .xml()).utf8)).root["a"]?.count == 10_000)
  }

  @Test("the charset of the header, of a mark, of the declaration, in this order")
  func charsets() throws {
    let latin = Array("<a>caf".utf8) + [0xE9] + Array("</a>".utf8)
    func declared(_ name: String) -> [UInt8] { Array("<?xml version='1.0' encoding='\(name)'?>".utf8) }
    #expect(try read(declared("ISO-8859-1") + latin, .xml()) == #"{"a":"café"}"#)
    #expect(try read(latin, .xml(), type: "text/xml; charset=ISO-8859-1") == #"{"a":"café"}"#)
    #expect(
      try read(declared("UTF-8") + latin, .xml(), type: "text/xml; charset=ISO-8859-1") == #"{"a":"café"}"#)
    #expect(try read(latin, .xml()).hasPrefix("the body is not XML (HTTP 200): line 1: "))
    #expect(try read(declared("UTF-8") + latin, .xml()).hasPrefix("the body is not XML (HTTP 200): line 1: "))
    #expect(try read(declared("klingon") + latin, .xml()).contains("the charset \"klingon\" is unknown"))
    #expect(
      try read(declared("us-ascii") + latin, .xml()).contains("not in its charset \"us-ascii\" (at byte 4"))
    let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><a>café</a>"
    for big in [true, false] {
      for mark in [true, false] {
        let units = (mark ? [0xFEFF] : []) + Array(text.utf16)
        let body = units.flatMap {
          big ? [UInt8($0 >> 8), UInt8($0 & 255)] : [UInt8($0 & 255), UInt8($0 >> 8)]
        }
        #expect(try read(body, .xml()) == #"{"a":"café"}"#)
      }
    }
  }

  @Test("several documents at once")
  func parallel() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<64 {
        group.addTask {
          let good = try read("<a><b>\(number)</b></a>", .xml())
          #expect(good == "{\"a\":{\"b\":\"\(number)\"}}")
          #expect(try read("<a><b>\(number)</a>", .xml()).contains("line 1: Opening and ending tag mismatch"))
        }
      }
      try await group.waitForAll()
    }
  }
}
