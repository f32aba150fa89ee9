"""The errors that each system call of causalctl can give: those of its man page that can happen in
our use of it. A lack of memory, descriptors or processes can always happen. A wrong pointer
(EFAULT) or descriptor (EBADF) of ours is a bug, not a fault."""

# Call → errnos.
ERRNOS = {
    "bpf": ("EPERM", "EINVAL", "ENOMEM", "E2BIG", "EACCES"),
    "brk": ("ENOMEM",),
    "clock_nanosleep": ("EINTR",),
    "clone": ("EAGAIN", "ENOMEM"),
    "clone3": ("EAGAIN", "ENOMEM"),
    "close": ("EIO", "EINTR"),
    "close_range": ("EINVAL", "ENOSYS"),
    "dup2": ("EBUSY", "EINTR", "EMFILE"),
    "dup3": ("EBUSY", "EINTR", "EMFILE"),
    "epoll_create1": ("EMFILE", "ENFILE", "ENOMEM"),
    "epoll_ctl": ("ENOMEM", "ENOSPC", "EPERM"),
    "epoll_wait": ("EINTR",),
    "eventfd2": ("EMFILE", "ENFILE", "ENOMEM"),
    "faccessat2": ("EACCES", "ENOENT", "ENOSYS"),
    "fchmod": ("EIO", "EPERM"),
    "fchown": ("EIO", "EPERM"),
    "fcntl": ("EINTR", "EMFILE"),
    "flock": ("EINTR", "ENOLCK", "EAGAIN"),
    "fsconfig": ("EBUSY", "ENOMEM", "EPERM"),
    "fsmount": ("EMFILE", "ENOMEM", "EPERM"),
    "fsopen": ("EMFILE", "ENODEV", "ENOMEM", "EPERM"),
    "fsync": ("EIO", "ENOSPC", "EROFS", "EINVAL", "EDQUOT"),
    "ftruncate": ("EINTR", "EIO", "EPERM"),
    "getdents64": ("ENOENT", "ENOMEM"),
    "get_robust_list": ("EPERM", "ESRCH"),
    "getrandom": ("EAGAIN", "EINTR", "ENOSYS"),
    "ioctl": ("EINVAL", "ENOTTY", "EBUSY", "ENOMEM"),
    "lseek": ("ESPIPE", "EINVAL"),
    "madvise": ("EAGAIN", "ENOMEM"),
    "memfd_create": ("EMFILE", "ENFILE", "ENOMEM"),
    "mincore": ("EAGAIN", "ENOMEM"),
    "mmap": ("ENOMEM", "EAGAIN", "EPERM"),
    "mprotect": ("ENOMEM", "EACCES"),
    "mremap": ("ENOMEM", "EAGAIN"),
    "munmap": ("ENOMEM",),
    "newfstatat": ("EACCES", "ENOENT", "ENOMEM"),
    "openat": ("EACCES", "EINTR", "EMFILE", "ENOENT", "ENOMEM"),
    "openat2": ("EACCES", "EAGAIN", "EMFILE", "ENOENT", "ENOSYS"),
    "perf_event_open": ("EACCES", "EBUSY", "EINVAL", "EMFILE", "ENODEV", "ENOENT", "ENOSPC",
                        "EOPNOTSUPP", "EPERM", "ESRCH", "ENOMEM"),
    "pidfd_open": ("EMFILE", "ENOMEM", "ENOSYS", "ESRCH"),
    "pipe2": ("EMFILE", "ENFILE"),
    "poll": ("EINTR", "ENOMEM"),
    "ppoll": ("EINTR", "ENOMEM"),
    "prctl": ("EINVAL",),
    "pread64": ("EINTR", "EIO"),
    "process_vm_readv": ("EFAULT", "ENOMEM", "EPERM", "ESRCH"),
    "process_vm_writev": ("EFAULT", "ENOMEM", "EPERM", "ESRCH"),
    "ptrace": ("EBUSY", "EIO", "EPERM", "ESRCH"),
    "read": ("EAGAIN", "EINTR", "EIO", "ENOMEM"),
    "readlink": ("EACCES", "EIO", "ENOENT", "ENOMEM"),
    "recvfrom": ("ECONNRESET", "EINTR", "ENOMEM"),
    "rename": ("EACCES", "EBUSY", "EDQUOT", "ENOSPC", "EROFS"),
    "rt_sigtimedwait": ("EAGAIN", "EINTR"),
    "sched_getaffinity": ("EINVAL", "ESRCH"),
    "sched_getattr": ("EPERM", "ESRCH"),
    "sched_getparam": ("EPERM", "ESRCH"),
    "sched_getscheduler": ("EPERM", "ESRCH"),
    "sched_setaffinity": ("EINVAL", "EPERM"),
    "sched_setscheduler": ("EINVAL", "EPERM", "ESRCH"),
    "sendto": ("EAGAIN", "ECONNRESET", "EINTR", "ENOBUFS", "ENOMEM", "EPIPE"),
    "setpriority": ("EACCES", "EPERM"),
    "setsid": ("EPERM",),
    "signalfd4": ("EMFILE", "ENFILE", "ENOMEM"),
    "socketpair": ("EMFILE", "ENFILE", "ENOMEM"),
    "statfs": ("EACCES", "EIO", "ENOENT", "ENOMEM"),
    "timerfd_create": ("EMFILE", "ENFILE", "ENOMEM"),
    "wait4": ("ECHILD", "EINTR"),
    "write": ("EAGAIN", "EINTR", "EIO", "ENOSPC", "EPIPE"),
}

CANNOT_FAIL = frozenset((
    # These have no errors, except EFAULT and EINVAL for arguments that are constants of ours.
    "arch_prctl", "clock_getres", "clock_gettime", "getegid", "geteuid", "getgid", "getpid", "getppid", "gettid",
    "getuid", "prlimit64", "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "sched_get_priority_max",
    "sched_get_priority_min", "sched_yield", "set_robust_list", "set_tid_address", "sigaltstack", "sysinfo",
    "timerfd_settime", "uname",
    # glibc's locks expect what a wait may return (EAGAIN, EINTR), and a wake cannot fail.
    "futex",
    # Of files that were just made, in a folder where that was permitted.
    "unlink",
    # They do not return, or are answers to a signal.
    "execve", "exit", "exit_group", "restart_syscall", "rt_sigreturn",
))

# The system call brk gives no errno. It fails by returning another break than the requested one.
RETURNED = {"brk": "retval=0"}

# (call, errno, use) of known bugs, with what they showed. Every run of the tests tries each of
# them.
REGRESSIONS = (
    ("clone3", "EAGAIN", "second, controller"),  # "bug: Resource temporarily unavailable"
    ("mprotect", "ENOMEM", "first, controller"),  # the same, for want of a stack
    ("dup2", "EMFILE", "last, guardian"),  # an end without a word
    ("openat", "EMFILE", "first, controller"),  # "process 4711 is gone"
    ("read", "EIO", "first, controller"),  # the same
    ("perf_event_open", "ESRCH", "first, controller"),  # "bug: INVARIANT(events) failed"
    ("ppoll", "ENOMEM", "second, guardian"),  # ended the run
    ("process_vm_readv", "EPERM", "second, controller"),  # "the target's text has changed"
    ("process_vm_writev", "ENOMEM", "first, guardian"),  # "the target ended during the attach"
    ("process_vm_writev", "EFAULT", "last, guardian"),  # page unmapped, handler left
    ("ptrace", "EBUSY", "last, guardian"),  # page left
    ("ptrace", "ESRCH", "second, guardian"),
    ("sched_setscheduler", "EPERM", "last, guardian"),  # a thread left in real-time priority
    ("sendto", "EINTR", "second, controller"),  # "the guardian process ended unexpectedly"
    ("wait4", "ECHILD", "last, guardian"),  # a thread kept the registers of our call
    ("write", "EIO", "second, controller"),  # hung: a wake-up of a thread of its own failed
)
