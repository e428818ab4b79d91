/*
 * A wall clock of its own for one server: preloaded, it answers for
 * clock_gettime, gettimeofday and time. It adds to CLOCK_REALTIME what the
 * first 8 bytes (nanoseconds, signed) of the file that TORTURE_CLOCK names say
 * at that moment. Other clocks are the kernel's.
 *
 * No header and no library is wanted: system calls are made directly, so the
 * functions replaced here are never called from here.
 */

typedef long long i64;

struct timespec { long sec, nsec; };
struct timeval { long sec, usec; };

#if defined(__x86_64__)
enum { SYS_read = 0, SYS_write = 1, SYS_close = 3, SYS_mmap = 9, SYS_clock_gettime = 228, SYS_exit_group = 231, SYS_openat = 257 };

static long call(long n, long a, long b, long c, long d, long e, long f)
{
	long r;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return r;
}
#elif defined(__aarch64__)
enum { SYS_openat = 56, SYS_close = 57, SYS_read = 63, SYS_write = 64, SYS_exit_group = 94, SYS_clock_gettime = 113, SYS_mmap = 222 };

static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}
#else
#error "the clock knows the system calls of amd64 and arm64 only"
#endif

enum { AT_FDCWD = -100, O_CLOEXEC = 02000000, PROT_READ = 1, MAP_SHARED = 1 };
enum { CLOCK_REALTIME = 0, CLOCK_REALTIME_COARSE = 5 };

static const volatile i64 *offset; /* none before the file is mapped */

extern int *__errno_location(void) __attribute__((weak));

static void die(void)
{
	static const char text[] = "TORTURE_CLOCK names no file of 8 bytes that can be mapped\n";
	call(SYS_write, 2, (long)text, sizeof text - 1, 0, 0, 0);
	call(SYS_exit_group, 70, 0, 0, 0, 0, 0);
}

/* The environment is read from the kernel: libc may not have its own yet. */
static char environment[65536];

static const char *file(void)
{
	static const char key[] = "TORTURE_CLOCK=";
	long fd = call(SYS_openat, AT_FDCWD, (long)"/proc/self/environ", O_CLOEXEC, 0, 0, 0);
	long used = 0, n, i, k;
	if (fd < 0)
		return 0;
	while (used < (long)sizeof environment - 1 &&
	       (n = call(SYS_read, fd, (long)(environment + used), sizeof environment - 1 - used, 0, 0, 0)) > 0)
		used += n;
	call(SYS_close, fd, 0, 0, 0, 0, 0);
	for (i = 0; i < used; i++) {
		for (k = 0; key[k] && environment[i + k] == key[k]; k++)
			;
		if (!key[k])
			return environment + i + k;
		while (environment[i])
			i++;
	}
	return 0;
}

__attribute__((constructor)) static void map(void)
{
	const char *path = file();
	long fd, at;
	if (!path)
		die();
	fd = call(SYS_openat, AT_FDCWD, (long)path, O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		die();
	at = call(SYS_mmap, 0, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
	if (at < 0 && at > -4096)
		die();
	call(SYS_close, fd, 0, 0, 0, 0, 0);
	offset = (const volatile i64 *)at;
}

static long read_clock(int id, struct timespec *t)
{
	const i64 second = 1000000000;
	i64 nsec;
	long err = call(SYS_clock_gettime, id, (long)t, 0, 0, 0, 0);
	if (err || !offset || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
		return err;
	nsec = t->sec * second + t->nsec + *offset;
	t->sec = nsec / second;
	t->nsec = nsec % second;
	if (t->nsec < 0) {
		t->nsec += second;
		t->sec--;
	}
	return 0;
}

int clock_gettime(int id, struct timespec *t)
{
	long err = read_clock(id, t);
	if (!err)
		return 0;
	if (__errno_location)
		*__errno_location() = (int)-err;
	return -1;
}

int gettimeofday(struct timeval *t, void *zone)
{
	struct timespec now;
	(void)zone;
	read_clock(CLOCK_REALTIME, &now);
	t->sec = now.sec;
	t->usec = now.nsec / 1000;
	return 0;
}

long time(long *t)
{
	struct timespec now;
	read_clock(CLOCK_REALTIME_COARSE, &now);
	if (t)
		*t = now.sec;
	return now.sec;
}
