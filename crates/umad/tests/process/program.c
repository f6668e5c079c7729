/* Programs as they use libibumad: each ends with 0 when what it expects holds, else it says what does
 * not. Linked to the library itself, so that no header is needed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int umad_init(void);
int umad_open_port(const char *, int);
int umad_close_port(int);
int umad_register(int, int, int, uint8_t, long *);
int umad_recv(int, void *, int *, int);
int umad_poll(int, int);
int umad_send(int, int, void *, int, int, int);
void **ibv_get_device_list(int *);
void *ibv_open_device(void *);
int ibv_close_device(void *);
int ibv_get_async_event(void *, void *);

/* Where struct ibv_context has async_fd. */
enum { ASYNC_FD_AT = 268, BUFFER = 64 + 2048, CHILDREN = 100 };

#define EXPECT(condition) \
	do { if (!(condition)) { fprintf(stderr, "line %d: %s, errno %d\n", __LINE__, #condition, errno); _exit(1); } } while (0)

static double now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec + at.tv_nsec / 1e9;
}

static int receive(int port, int timeout_ms)
{
	char buffer[BUFFER];
	int length = 2048;
	return umad_recv(port, buffer, &length, timeout_ms);
}

static int open_port(void)
{
	EXPECT(umad_init() == 0);
	int port = umad_open_port(0, 1);
	EXPECT(port >= 0);
	return port;
}

static void *open_device(void)
{
	void *device = ibv_get_device_list(0)[0];
	EXPECT(device);
	void *context = ibv_open_device(device);
	EXPECT(context);
	return context;
}

static int async_fd(void *context)
{
	return *(int *)((char *)context + ASYNC_FD_AT);
}

static pthread_t start(void *(*work)(void *), void *argument)
{
	pthread_t thread;
	EXPECT(pthread_create(&thread, 0, work, argument) == 0);
	return thread;
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

/* fork: while other threads use the library, each of many children uses it too. */

static atomic_int over;

static void *busy(void *argument)
{
	while (!over) {
		int port = open_port();
		receive(port, 0);
		umad_close_port(port);
		ibv_close_device(open_device());
	}
	return 0;
}

static void use_in_child(int inherited)
{
	alarm(20);
	EXPECT(receive(inherited, 0) == -EBADF);
	int port = open_port();
	EXPECT(receive(port, 0) == -EAGAIN);
	EXPECT(umad_close_port(port) == 0);
	ibv_close_device(open_device());
	EXPECT(umad_close_port(inherited) == 0);
	_exit(0);
}

static int fork_while_busy(void)
{
	int port = open_port(), status;
	pthread_t threads[2] = { start(busy, 0), start(busy, 0) };
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();
		EXPECT(child >= 0);
		if (child == 0)
			use_in_child(port);
		EXPECT(waitpid(child, &status, 0) == child);
		EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	over = 1;
	pthread_join(threads[0], 0);
	pthread_join(threads[1], 0);
	EXPECT(receive(port, 0) == -EAGAIN);
	return 0;
}

/* orphan: takes requests for a class, forks, and ends before its child does. */

static int serve_class(int port)
{
	long methods[2] = { 1 << 1 | 1 << 2, 0 };
	return umad_register(port, 0x32, 1, 0, methods);
}

static int leave_orphan(void)
{
	EXPECT(serve_class(open_port()) >= 0);
	EXPECT(serve_class(open_port()) < 0);
	pid_t child = fork();
	if (child == 0) {
		close(1);
		close(2);
		alarm(30);
		for (;;)
			pause();
	}
	printf("%d\n", child);
	return 0;
}

/* serve: takes the same requests, as soon as nobody else has them. */
static int serve(void)
{
	int port = open_port();
	for (double until = now() + 5; now() < until; usleep(20000))
		if (serve_class(port) >= 0)
			return 0;
	return 1;
}

/* signals: a signal that all threads of the program block is for the one that waits for it. */
static int wait_for_signals(void)
{
	sigset_t set;
	struct timespec patience = { 5, 0 };
	open_port();
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, 0);
	for (int i = 0; i < 100; i++) {
		kill(getpid(), i % 2 ? SIGTERM : SIGALRM);
		EXPECT(sigtimedwait(&set, 0, &patience) == (i % 2 ? SIGTERM : SIGALRM));
	}
	return 0;
}

/* end: whoever waits when the fabric goes away is woken. */

static void *wait_to_receive(void *port)
{
	EXPECT(receive(*(int *)port, -1) == -EIO);
	return 0;
}

static void *wait_to_poll(void *port)
{
	EXPECT(umad_poll(*(int *)port, -1) == 0);
	return 0;
}

static void *wait_for_event(void *context)
{
	struct { uint64_t element; int type; } event = { 0, 0 };
	while (event.type != 8) /* IBV_EVENT_DEVICE_FATAL */
		EXPECT(ibv_get_async_event(context, &event) == 0);
	EXPECT(ibv_get_async_event(context, &event) == -1 && errno == EIO);
	return 0;
}

static int wait_for_the_end(void)
{
	int port = open_port(), other = open_port();
	EXPECT(serve_class(port) >= 0);
	void *context = open_device();
	pthread_t threads[] = {
		start(wait_to_receive, &port), start(wait_to_receive, &port), start(wait_to_poll, &other),
		start(wait_for_event, context),
	};
	ready();
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], 0);
	/* Neither a busy loop nor a dead end follows. */
	double before = now();
	for (int i = 0; i < 3; i++)
		EXPECT(receive(port, 1000) == -EIO);
	EXPECT(now() - before > 0.2 && now() - before < 1);
	char buffer[BUFFER] = { 0 };
	EXPECT(umad_send(port, 0, buffer, 256, 0, 0) == -EIO && errno == EIO);
	EXPECT(umad_close_port(port) == 0);
	EXPECT(umad_close_port(other) == 0);
	EXPECT(ibv_close_device(context) == 0);
	return 0;
}

/* mute: while a thread connects to a fabric that does not answer, others do not wait for it. */

static void *connect_again(void *argument)
{
	EXPECT(umad_init() < 0);
	return 0;
}

static int connect_to_mute(void)
{
	int port = open_port();
	ready();
	EXPECT(getchar() == '\n');
	EXPECT(receive(port, -1) == -EIO);
	pthread_t threads[2] = { start(connect_again, 0), start(connect_again, 0) };
	double before = now();
	usleep(300000);
	EXPECT(receive(port, 0) == -EIO);
	EXPECT(umad_poll(port, 0) == 0);
	EXPECT(umad_close_port(port) == 0);
	EXPECT(now() - before < 2);
	pthread_join(threads[0], 0);
	pthread_join(threads[1], 0);
	EXPECT(now() - before < 8); /* the second does not begin an attempt of its own */
	return 0;
}

/* descriptors: those that the program closed itself may be another file's. */
static int close_descriptors(void)
{
	int port = open_port();
	close(port);
	EXPECT(open("/dev/null", O_RDONLY) == port);
	EXPECT(receive(port, 0) == -EBADF);
	umad_close_port(port);
	EXPECT(fcntl(port, F_GETFD) >= 0);

	int closed = open_port();
	close(closed);
	EXPECT(open("/dev/null", O_RDONLY) == closed);
	umad_close_port(closed);
	EXPECT(fcntl(closed, F_GETFD) >= 0);

	/* What was registered at a descriptor ends with it. */
	int first = open_port();
	EXPECT(serve_class(first) >= 0);
	close(first);
	int second = open_port();
	EXPECT(serve_class(second) >= 0);
	EXPECT(umad_close_port(second) == 0);
	EXPECT(umad_close_port(second) == -EBADF);

	void *context = open_device();
	int fd = async_fd(context);
	close(fd);
	EXPECT(open("/dev/null", O_RDONLY) == fd);
	EXPECT(ibv_close_device(context) == 0);
	EXPECT(fcntl(fd, F_GETFD) >= 0);
	return 0;
}

int main(int count, char **arguments)
{
	static const struct { const char *name; int (*run)(void); } programs[] = {
		{ "fork", fork_while_busy },     { "orphan", leave_orphan },     { "serve", serve },
		{ "signals", wait_for_signals }, { "end", wait_for_the_end },    { "mute", connect_to_mute },
		{ "descriptors", close_descriptors },
	};
	for (int i = 0; i < sizeof programs / sizeof programs[0]; i++)
		if (count == 2 && !strcmp(arguments[1], programs[i].name))
			return programs[i].run();
	return 2;
}
