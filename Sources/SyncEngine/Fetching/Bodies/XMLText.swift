import CXML

/// An XML document, written as JSON text by the convention that the article on bodies describes.
struct XMLText {
  private let convention: XMLConvention
  /// The elements that the records are, from the document's own element on; empty where `rows:` names none.
  private let rowPath: [String]
  private var out: JSONWriter
  private var fault: BodyError?

  private init(_ convention: XMLConvention, rowPath: [String], capacity: Int) {
    (self.convention, self.rowPath) = (convention, rowPath)
    out = JSONWriter(capacity: capacity)
  }

  /// - Parameters:
  ///   - body: UTF-8, whatever its declaration says.
  /// - Throws: ``BodyError`` for anything that is not one well-formed document, and for one that declares entities.
  static func json(_ body: [UInt8], _ convention: XMLConvention, rows: Rows) throws(BodyError) -> [UInt8] {
    let document = try parse(body)
    defer { xmlFreeDoc(document) }
    guard let root = xmlDocGetRootElement(document) else { throw BodyError("there is no element") }
    var writer = XMLText(convention, rowPath: rowPath(rows), capacity: body.count)
    writer.out.raw("{")
    writer.member([root], path: [])
    writer.out.raw("}")
    if let fault = writer.fault { throw fault }
    return writer.out.bytes
  }

  private static func rowPath(_ rows: Rows) -> [String] {
    guard rows.shape == .list || rows.shape == .listOrObject else { return [] }
    var names: [String] = []
    for component in rows.listPath.components {
      guard case .key(let name) = component else { return [] }
      names.append(name)
    }
    return names
  }

  // MARK: Parsing

  private static let ready: Void = xmlInitParser()

  private static func parse(_ body: [UInt8]) throws(BodyError) -> xmlDocPtr {
    _ = ready
    guard body.count < Int32.max, let context = xmlNewParserCtxt() else {
      throw BodyError("the document is too large")
    }
    defer { xmlFreeParserCtxt(context) }
    let diagnosis = Diagnosis()
    context.pointee._private = Unmanaged.passUnretained(diagnosis).toOpaque()
    defer { withExtendedLifetime(diagnosis) {} }
    // No entity is ever known, so none can grow or read a file.
    context.pointee.sax.pointee.entityDecl = { context, _, _, _, _, _ in
      guard let context else { return }
      let parser = context.assumingMemoryBound(to: xmlParserCtxt.self)
      Diagnosis.of(parser)?.fault = BodyError("it declares entities, which are not read")
      xmlStopParser(parser)
    }
    context.pointee.sax.pointee.serror = { context, error in
      guard let context, let error = error?.pointee, error.level == XML_ERR_FATAL,
        let diagnosis = Diagnosis.of(context.assumingMemoryBound(to: xmlParserCtxt.self)),
        diagnosis.fault == nil
      else { return }
      let message = error.message.map { String(cString: $0) } ?? ""
      diagnosis.fault = BodyError(
        line: Int(error.line),
        message.split(separator: "\n").first.map(String.init) ?? "it is not well-formed")
    }
    context.pointee.sax.pointee.externalSubset = nil
    context.pointee.sax.pointee.resolveEntity = nil
    let options =
      XML_PARSE_NONET.rawValue | XML_PARSE_NOERROR.rawValue | XML_PARSE_NOWARNING.rawValue
      | XML_PARSE_NOCDATA.rawValue | XML_PARSE_IGNORE_ENC.rawValue
    let document = body.withUnsafeBytes { bytes in
      xmlCtxtReadMemory(
        context, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), nil, "UTF-8",
        Int32(options))
    }
    guard let document, context.pointee.wellFormed == 1, diagnosis.fault == nil else {
      if let document { xmlFreeDoc(document) }
      throw diagnosis.fault ?? BodyError("it is not well-formed")
    }
    return document
  }

  /// The first fault of a document; the parser's callbacks find it through the parser.
  private final class Diagnosis {
    var fault: BodyError?

    static func of(_ parser: xmlParserCtxtPtr) -> Diagnosis? {
      parser.pointee._private.map { Unmanaged<Diagnosis>.fromOpaque($0).takeUnretainedValue() }
    }
  }

  // MARK: Writing

  /// `"name": value` for all elements of one name below one parent.
  private mutating func member(_ elements: [xmlNodePtr], path: [String]) {
    let name = Self.name(elements[0])
    let path = path + [name]
    out.string(name.utf8)
    out.raw(":")
    if let attribute = convention.keyed[name], path != rowPath {
      return keyed(elements, by: attribute, path: path)
    }
    if elements.count == 1, !convention.lists.contains(name), path != rowPath {
      return value(elements[0], path: path)
    }
    list(elements, path: path)
  }

  private mutating func list(_ elements: [xmlNodePtr], path: [String]) {
    out.raw("[")
    for (position, element) in elements.enumerated() {
      if position > 0 { out.raw(",") }
      value(element, path: path)
    }
    out.raw("]")
  }

  private mutating func keyed(_ elements: [xmlNodePtr], by attribute: String, path: [String]) {
    var groups = Groups()
    for element in elements {
      groups.add(element, to: Self.attributes(element).first { $0.name == attribute }?.value ?? "")
    }
    out.raw("{")
    for (position, group) in groups.all.enumerated() {
      if position > 0 { out.raw(",") }
      out.string(group.name.utf8)
      out.raw(":")
      if group.elements.count == 1 {
        value(group.elements[0], path: path)
      } else {
        list(group.elements, path: path)
      }
    }
    out.raw("}")
  }

  private mutating func value(_ element: xmlNodePtr, path: [String]) {
    var groups = Groups()
    var text = ""
    var isBlank = true
    var child = element.pointee.children
    while let node = child {
      switch node.pointee.type {
      case XML_ELEMENT_NODE: groups.add(node, to: Self.name(node))
      case XML_TEXT_NODE, XML_CDATA_SECTION_NODE:
        if let content = node.pointee.content {
          text += String(cString: content)
          if xmlIsBlankNode(node) == 0 { isBlank = false }
        }
      case XML_ENTITY_REF_NODE:
        fault = BodyError("it uses the entity \"\(Self.name(node))\", which is not read")
      default: break  // comments and processing instructions
      }
      child = node.pointee.next
    }
    let all = Self.attributes(element)
    if all.contains(where: { $0.isNull }) { return out.raw("null") }
    let attributes = all.filter { !convention.ignoring.contains($0.name) }
    // The records' parent is an object even where there is no record in it.
    let missingRow = rowPath.count == path.count + 1 && rowPath.starts(with: path) ? rowPath.last : nil
    let hasRow = missingRow.map { row in groups.all.contains { $0.name == row } } ?? true
    if attributes.isEmpty && groups.all.isEmpty && hasRow { return out.string(text.utf8) }

    out.raw("{")
    var isFirst = true
    func comma(_ out: inout JSONWriter) {
      if !isFirst { out.raw(",") }
      isFirst = false
    }
    for attribute in attributes {
      comma(&out)
      out.string("@\(attribute.name)".utf8)
      out.raw(":")
      out.string(attribute.value.utf8)
    }
    // Blanks between elements are layout; in an element without any they are its text.
    if (groups.all.isEmpty && hasRow) || !isBlank {
      comma(&out)
      out.raw("\"#text\":")
      out.string(text.utf8)
    }
    for group in groups.all {
      comma(&out)
      member(group.elements, path: path)
    }
    if !hasRow, let missingRow {
      comma(&out)
      out.string(missingRow.utf8)
      out.raw(":[]")
    }
    out.raw("}")
  }

  /// Elements by name, in the order in which the names come first.
  private struct Groups {
    private(set) var all: [(name: String, elements: [xmlNodePtr])] = []
    // By bytes: two spellings of one character are two names.
    private var positions: [[UInt8]: Int] = [:]

    mutating func add(_ element: xmlNodePtr, to name: String) {
      let key = Array(name.utf8)
      if let position = positions[key] {
        all[position].elements.append(element)
      } else {
        positions[key] = all.count
        all.append((name, [element]))
      }
    }
  }

  /// The name with its prefix as it is written.
  private static func name(_ node: xmlNodePtr) -> String {
    qualified(node.pointee.name, node.pointee.type == XML_ELEMENT_NODE ? node.pointee.ns : nil)
  }

  private static func qualified(_ name: UnsafePointer<xmlChar>?, _ space: xmlNsPtr?) -> String {
    let name = name.map { String(cString: $0) } ?? ""
    return space?.pointee.prefix.map { "\(String(cString: $0)):\(name)" } ?? name
  }

  private struct Attribute {
    var name: String
    var value: String
    /// `xsi:nil="true"`, or `null="true"` of OData.
    var isNull: Bool
  }

  private static func attributes(_ element: xmlNodePtr) -> [Attribute] {
    var all: [Attribute] = []
    var next = element.pointee.properties
    while let attribute = next {
      let value = xmlNodeListGetString(element.pointee.doc, attribute.pointee.children, 1)
      defer { if let value { cxml_free(value) } }
      let text = value.map { String(cString: $0) } ?? ""
      let space = attribute.pointee.ns?.pointee.href.map { String(cString: $0) }
      let local = attribute.pointee.name.map { String(cString: $0) } ?? ""
      let isNull =
        (text == "true" || text == "1")
        && nullMarks.contains { $0.local == local && $0.space == space }
      all.append(
        Attribute(name: qualified(attribute.pointee.name, attribute.pointee.ns), value: text, isNull: isNull))
      next = attribute.pointee.next
    }
    return all
  }

  /// XML Schema part 1 §2.6.2; OData 2 (MS-ODATA §2.2.6.2.2) and OData 4 (Atom format §7).
  private static let nullMarks: [(local: String, space: String)] = [
    ("nil", "http://www.w3.org/2001/XMLSchema-instance"),
    ("null", "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"),
    ("null", "http://docs.oasis-open.org/odata/ns/metadata"),
  ]
}
