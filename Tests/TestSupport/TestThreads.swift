import Foundation
import Synchronization

/// Threads on which tests run, so that one that waits for a program or a server keeps no other from running.
///
/// The threads of Swift's own pool are as many as the processor has cores, and tests that wait in them hold up every task
/// of the process, until time limits end what would have gone well.
final class TestThreads: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])
  private let waiting = DispatchSemaphore(value: 0)

  init(count: Int) {
    for _ in 0..<count {
      let thread = Thread { [self] in
        while true {
          waiting.wait()
          let job = jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
          job?.runSynchronously(on: asUnownedTaskExecutor())
        }
      }
      thread.stackSize = 8 << 20
      thread.start()
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    waiting.signal()
  }
}
