import SyncEngine

/// A hundred columns: the key, and 33 each of numbers, texts and fractions.
struct Wide: Entity {
  var id: Int64 = 0
  var number1: Int64?
  var number2: Int64?
  var number3: Int64?
  var number4: Int64?
  var number5: Int64?
  var number6: Int64?
  var number7: Int64?
  var number8: Int64?
  var number9: Int64?
  var number10: Int64?
  var number11: Int64?
  var number12: Int64?
  var number13: Int64?
  var number14: Int64?
  var number15: Int64?
  var number16: Int64?
  var number17: Int64?
  var number18: Int64?
  var number19: Int64?
  var number20: Int64?
  var number21: Int64?
  var number22: Int64?
  var number23: Int64?
  var number24: Int64?
  var number25: Int64?
  var number26: Int64?
  var number27: Int64?
  var number28: Int64?
  var number29: Int64?
  var number30: Int64?
  var number31: Int64?
  var number32: Int64?
  var number33: Int64?
  var text1: String?
  var text2: String?
  var text3: String?
  var text4: String?
  var text5: String?
  var text6: String?
  var text7: String?
  var text8: String?
  var text9: String?
  var text10: String?
  var text11: String?
  var text12: String?
  var text13: String?
  var text14: String?
  var text15: String?
  var text16: String?
  var text17: String?
  var text18: String?
  var text19: String?
  var text20: String?
  var text21: String?
  var text22: String?
  var text23: String?
  var text24: String?
  var text25: String?
  var text26: String?
  var text27: String?
  var text28: String?
  var text29: String?
  var text30: String?
  var text31: String?
  var text32: String?
  var text33: String?
  var ratio1: Double?
  var ratio2: Double?
  var ratio3: Double?
  var ratio4: Double?
  var ratio5: Double?
  var ratio6: Double?
  var ratio7: Double?
  var ratio8: Double?
  var ratio9: Double?
  var ratio10: Double?
  var ratio11: Double?
  var ratio12: Double?
  var ratio13: Double?
  var ratio14: Double?
  var ratio15: Double?
  var ratio16: Double?
  var ratio17: Double?
  var ratio18: Double?
  var ratio19: Double?
  var ratio20: Double?
  var ratio21: Double?
  var ratio22: Double?
  var ratio23: Double?
  var ratio24: Double?
  var ratio25: Double?
  var ratio26: Double?
  var ratio27: Double?
  var ratio28: Double?
  var ratio29: Double?
  var ratio30: Double?
  var ratio31: Double?
  var ratio32: Double?
  var ratio33: Double?

  static let source = Source(.bench, "wide/1.json", rows: "data.results", paging: .next("next"))

  static var mapping: Mapping<Wide> {
    Key(\.id)
    Field(\.number1)
    Field(\.number2)
    Field(\.number3)
    Field(\.number4)
    Field(\.number5)
    Field(\.number6)
    Field(\.number7)
    Field(\.number8)
    Field(\.number9)
    Field(\.number10)
    Field(\.number11)
    Field(\.number12)
    Field(\.number13)
    Field(\.number14)
    Field(\.number15)
    Field(\.number16)
    Field(\.number17)
    Field(\.number18)
    Field(\.number19)
    Field(\.number20)
    Field(\.number21)
    Field(\.number22)
    Field(\.number23)
    Field(\.number24)
    Field(\.number25)
    Field(\.number26)
    Field(\.number27)
    Field(\.number28)
    Field(\.number29)
    Field(\.number30)
    Field(\.number31)
    Field(\.number32)
    Field(\.number33)
    Field(\.text1)
    Field(\.text2)
    Field(\.text3)
    Field(\.text4)
    Field(\.text5)
    Field(\.text6)
    Field(\.text7)
    Field(\.text8)
    Field(\.text9)
    Field(\.text10)
    Field(\.text11)
    Field(\.text12)
    Field(\.text13)
    Field(\.text14)
    Field(\.text15)
    Field(\.text16)
    Field(\.text17)
    Field(\.text18)
    Field(\.text19)
    Field(\.text20)
    Field(\.text21)
    Field(\.text22)
    Field(\.text23)
    Field(\.text24)
    Field(\.text25)
    Field(\.text26)
    Field(\.text27)
    Field(\.text28)
    Field(\.text29)
    Field(\.text30)
    Field(\.text31)
    Field(\.text32)
    Field(\.text33)
    Field(\.ratio1)
    Field(\.ratio2)
    Field(\.ratio3)
    Field(\.ratio4)
    Field(\.ratio5)
    Field(\.ratio6)
    Field(\.ratio7)
    Field(\.ratio8)
    Field(\.ratio9)
    Field(\.ratio10)
    Field(\.ratio11)
    Field(\.ratio12)
    Field(\.ratio13)
    Field(\.ratio14)
    Field(\.ratio15)
    Field(\.ratio16)
    Field(\.ratio17)
    Field(\.ratio18)
    Field(\.ratio19)
    Field(\.ratio20)
    Field(\.ratio21)
    Field(\.ratio22)
    Field(\.ratio23)
    Field(\.ratio24)
    Field(\.ratio25)
    Field(\.ratio26)
    Field(\.ratio27)
    Field(\.ratio28)
    Field(\.ratio29)
    Field(\.ratio30)
    Field(\.ratio31)
    Field(\.ratio32)
    Field(\.ratio33)
  }

  static let deletion = Deletion<Wide>.missing
}
