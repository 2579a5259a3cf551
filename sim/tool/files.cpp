#include <sim/tool/failure.hpp>
#include <sim/tool/files.hpp>

#include <nki/error.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nki::tool {

namespace {

std::atomic<int> signals{0};
std::atomic<bool> leave_at_once{true};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

// What the handler may need, in memory that it can read at any moment. The file's name is cleared before it changes.
std::atomic<bool> temporary_exists{false};
std::atomic<bool> stdout_begun{false};
char temporary_name[4096];
char last_words[512];

void leave() {
  if (temporary_exists) unlink(temporary_name);
  static constexpr char text[] = "error: interrupted\n";
  ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  if (last_words[0] != '\0' && !stdout_begun) written = write(STDOUT_FILENO, last_words, std::strlen(last_words));
  static_cast<void>(written);
  _exit(exit_interrupted);
}

extern "C" void on_signal(int) {
  const int saved = errno;
  if (signals.fetch_add(1) > 0 || leave_at_once) leave();
  errno = saved;
}

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw Error({.id = "NKI-E611",
               .sentence = "an output must be a file that can be written",
               .got = path + ": " + std::strerror(error),
               .allowed = {},
               .hint = error == ENOENT   ? "make the folder first, or name another file"
                       : error == ENOSPC ? "free some space, or name a file on another disk"
                       : error == EISDIR ? "name a file in that folder"
                                         : "name a file that you may write, or '-' for stdout",
               .file = {},
               .error_class = ErrorClass::cannot_write});
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// The file beside its place while it is written; removed unless it has been put there.
class Temporary {
 public:
  explicit Temporary(const std::string& path) : path_(path), name_(path + ".nki-XXXXXX") {
    if (name_.size() >= sizeof temporary_name) cannot_write(path_, ENAMETOOLONG);
    fd_ = mkstemp(name_.data());
    if (fd_ < 0) cannot_write(path_, errno);
    std::memcpy(temporary_name, name_.c_str(), name_.size() + 1);
    temporary_exists = true;
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    temporary_exists = false;
    if (fd_ >= 0) close(fd_);
    if (!placed_) unlink(name_.c_str());
  }
  void put(std::string_view bytes, mode_t mode) {
    if (!write_all(fd_, bytes) || fsync(fd_) != 0 || fchmod(fd_, mode) != 0) cannot_write(path_, errno);
    const int fd = fd_;
    fd_ = -1;
    if (close(fd) != 0) cannot_write(path_, errno);
    if (rename(name_.c_str(), path_.c_str()) != 0) cannot_write(path_, errno);
    placed_ = true;
  }

 private:
  std::string path_, name_;
  int fd_ = -1;
  bool placed_ = false;
};

}  // namespace

void write_stdout(std::string_view bytes) {
  stdout_begun = true;
  if (std::fflush(stdout) != 0 || !write_all(STDOUT_FILENO, bytes)) cannot_write("stdout", errno);
}

void write_file(const std::string& path, std::string_view bytes) {
  if (path == "-") return write_stdout(bytes);
  if (path.empty()) cannot_write("(no name)", ENOENT);
  struct stat there {};
  mode_t mode = 0644;
  if (stat(path.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) cannot_write(path, EISDIR);
    if (!S_ISREG(there.st_mode)) {
      // A device or a pipe cannot be replaced; it takes the bytes as they come.
      const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
      if (fd < 0) cannot_write(path, errno);
      const bool good = write_all(fd, bytes);
      const int error = errno;
      if (close(fd) != 0 || !good) cannot_write(path, good ? errno : error);
      return;
    }
    if (access(path.c_str(), W_OK) != 0) cannot_write(path, errno);
    mode = there.st_mode & 07777;
  } else {
    const mode_t mask = umask(0);
    umask(mask);
    mode = 0666 & ~mask;
  }
  // A link stays a link: what it points to is replaced.
  char* const real = realpath(path.c_str(), nullptr);
  const std::string place = real != nullptr ? real : path;
  std::free(real);
  Temporary(place).put(bytes, mode);
}

std::string read_file(const std::string& path, const std::string& what, std::size_t max_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto refuse = [&](int error) {
    usage("NKI-E605", "cannot read " + what, path + ": " + std::strerror(error), {},
          error == ENOENT ? "check the name of the file and the folder you are in" : "name a file that you may read");
  };
  if (fd < 0) refuse(errno);
  struct Close {
    int fd;
    ~Close() { close(fd); }
  } guard{fd};
  struct stat s {};
  if (fstat(fd, &s) == 0 && S_ISDIR(s.st_mode)) refuse(EISDIR);
  std::string bytes;
  if (S_ISREG(s.st_mode) && s.st_size > 0 && static_cast<std::size_t>(s.st_size) <= max_bytes)
    bytes.reserve(static_cast<std::size_t>(s.st_size));
  constexpr std::size_t step = std::size_t{1} << 18;
  for (;;) {
    const std::size_t at = bytes.size();
    if (at > max_bytes)
      throw Error({.id = "NKI-E612",
                   .sentence = "a file that is read must have a sensible size",
                   .got = path + ": more than " + std::to_string(max_bytes) + " bytes",
                   .allowed = {},
                   .hint = "this is not " + what + " that nki wrote",
                   .file = {},
                   .error_class = ErrorClass::damaged_file});
    bytes.resize(at + step);
    const ssize_t n = read(fd, bytes.data() + at, step);
    if (n < 0 && errno != EINTR) refuse(errno);
    bytes.resize(at + static_cast<std::size_t>(n > 0 ? n : 0));
    if (n == 0) return bytes;
  }
}

void handle_signals(OnSignal what, const std::string& schema) {
  leave_at_once = what == OnSignal::leave;
  last_words[0] = '\0';
  if (!schema.empty()) {
    const Fault p{.id = "NKI-E690",
                  .error_class = "interrupted",
                  .message = "interrupted by a signal",
                  .got = {},
                  .allowed = {},
                  .hint = {},
                  .file = {},
                  .exit_code = exit_interrupted};
    const std::string text = dump(Json::object({{"schema", schema}, {"ok", false}, {"error", p.json()}})) + "\n";
    if (text.size() < sizeof last_words) std::memcpy(last_words, text.c_str(), text.size() + 1);
  }
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT);
  sigaddset(&action.sa_mask, SIGTERM);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept {
  return signals.load() > 0;
}

}  // namespace nki::tool
