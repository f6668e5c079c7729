/* A libibumad of some devices that do as the test says. Structures come from the test, which has them
 * from the one declaration that is held against umad.h. */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>

/* What umad_recv and umad_send of a device do. */
enum behaviour {
	QUIET,       /* nothing arrives, everything can be sent */
	READ_EIO,    /* umad_recv fails at once, as after a poll that ends with POLLERR */
	WRITE_ENXIO, /* umad_send fails */
	INTERRUPTED, /* umad_recv is interrupted five times, then a datagram arrives */
	READ_ENOSPC, /* umad_recv fails for another reason */
	ABSENT,      /* there is no such device */
};

struct device {
	const char *name;
	atomic_int behaviour, receives, sends, opens, closes, interrupts;
};

static struct device devices[] = {
	{ .name = "hfi_read" },  { .name = "hfi_write" }, { .name = "hfi_signal" },
	{ .name = "hfi_space" }, { .name = "hfi_back" },
};

enum { DEVICES = sizeof devices / sizeof devices[0], MAD_AT = 64, ADDR_AT = 20, MAD_LEN = 256 };

static unsigned char ca_template[512], port_template[512];
static size_t ca_size, port_size;

static struct device *find(const char *name)
{
	for (int i = 0; i < DEVICES; i++)
		if (!strcmp(devices[i].name, name))
			return &devices[i];
	return 0;
}

/* The test's own calls. */

void fake_templates(const void *ca, size_t ca_len, const void *port, size_t port_len)
{
	memcpy(ca_template, ca, ca_size = ca_len);
	memcpy(port_template, port, port_size = port_len);
}

void fake_set(const char *name, int behaviour)
{
	struct device *device = find(name);
	device->receives = device->sends = device->interrupts = 0;
	device->behaviour = behaviour;
}

/* Counts: 0 receives and 1 sends since fake_set, 2 opens and 3 closes since the start. */
int fake_count(const char *name, int what)
{
	struct device *device = find(name);
	atomic_int *counts[] = { &device->receives, &device->sends, &device->opens, &device->closes };
	return *counts[what];
}

/* libibumad. A port's number is that of its device. */

int umad_init(void) { return 0; }

int umad_get_cas_names(char names[][20], int max)
{
	int count = 0;
	for (int i = 0; i < DEVICES && count < max; i++)
		if (devices[i].behaviour != ABSENT)
			strcpy(names[count++], devices[i].name);
	return count;
}

int umad_get_ca(const char *name, void *ca)
{
	if (find(name)->behaviour == ABSENT)
		return -ENODEV;
	memcpy(ca, ca_template, ca_size);
	return 0;
}

int umad_get_port(const char *name, int number, void *port)
{
	if (find(name)->behaviour == ABSENT)
		return -EIO;
	memcpy(port, port_template, port_size);
	return 0;
}

int umad_release_ca(void *ca) { return 0; }
int umad_release_port(void *port) { return 0; }

int umad_get_issm_path(const char *name, int number, char *path, int max)
{
	strcpy(path, "/dev/null");
	return 0;
}

int umad_open_port(const char *name, int number)
{
	struct device *device = find(name);
	if (device->behaviour == ABSENT) {
		errno = ENXIO;
		return -EIO;
	}
	device->opens++;
	return device - devices;
}

int umad_close_port(int port)
{
	devices[port].closes++;
	return 0;
}

int umad_register2(int port, void *attr, unsigned *agent)
{
	*agent = 1;
	return 0;
}

int umad_unregister(int port, int agent) { return 0; }
size_t umad_size(void) { return MAD_AT; }
void *umad_get_mad(void *umad) { return (char *)umad + MAD_AT; }
void *umad_get_mad_addr(void *umad) { return (char *)umad + ADDR_AT; }
int umad_get_pkey(void *umad) { return 0; }
int umad_set_pkey(void *umad, int index) { return 0; }
int umad_set_addr(void *umad, int lid, int qp, int sl, int qkey) { return 0; }
int umad_status(void *umad) { return 0; }

int umad_send(int port, int agent, void *umad, int length, int timeout_ms, int retries)
{
	devices[port].sends++;
	if (devices[port].behaviour != WRITE_ENXIO)
		return 0;
	errno = ENXIO;
	return -EIO;
}

static int fail(int error, int answer)
{
	errno = error;
	return answer;
}

int umad_recv(int port, void *umad, int *length, int timeout_ms)
{
	static const unsigned char trap[MAD_LEN] = { 0x80, 0x01, 0x80, 0x05 };
	struct device *device = &devices[port];
	device->receives++;
	switch (device->behaviour) {
	case READ_EIO:
		return fail(EIO, -EIO);
	case READ_ENOSPC:
		return fail(ENOSPC, -ENOSPC);
	case INTERRUPTED:
		if (device->interrupts++ < 5)
			return fail(EINTR, -EIO);
		device->behaviour = QUIET;
		memset(umad, 0, MAD_AT);
		memcpy((char *)umad + MAD_AT, trap, MAD_LEN);
		*length = MAD_LEN;
		return 1;
	}
	poll(0, 0, timeout_ms);
	return -ETIMEDOUT;
}
