/// Refuses a schedule that cannot be kept.
enum ScheduleValidator {
  static func validate(_ entity: String, _ schedule: Schedule?) throws(DeclarationError) {
    guard let fault = schedule?.fault else { return }
    throw DeclarationError("\(entity): the schedule cannot work: \(fault)")
  }
}
