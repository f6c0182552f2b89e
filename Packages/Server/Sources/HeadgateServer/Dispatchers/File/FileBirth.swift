import CUV
import Glibc

/// When a file was made.
enum FileBirth {
    /// How long ago, by the wall clock; zero where the file system does not tell, or the clock was set back.
    static func age(of descriptor: Int32) -> Duration {
        var request = uv_fs_t()
        defer { uv_fs_req_cleanup(&request) }
        guard uv_fs_fstat(nil, &request, descriptor, nil) == 0 else { return .zero }
        let birth = request.statbuf.st_birthtim
        guard birth.tv_sec > 0 else { return .zero }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return max(.zero, .seconds(now.tv_sec - birth.tv_sec) + .nanoseconds(now.tv_nsec - birth.tv_nsec))
    }
}
