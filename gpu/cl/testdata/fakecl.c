/* A libOpenCL that fails on demand, for the tests of package cl.

   It has one platform and one device, keeps buffers in memory, runs no kernels,
   and carries out non-blocking transfers as late as it may: when the queue is
   finished or their event waited for. Every object is counted.

   fake_fail makes one call of one function return one code. Compiled with
   -DNO_ICD it has a platform only if OCL_ICD_VENDORS was set when it was first
   called, as a loader without a registered driver does; with -DOMIT it lacks
   clEnqueueFillBuffer, as a library of OpenCL 1.1 does. */

#include <fenv.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;

enum { INVALID_VALUE = -30, PLATFORM_NOT_FOUND = -1001, DEVICE_NOT_FOUND = -1 };

/* ---- control ---- */

static char fail_name[64];
static int fail_code, fail_skip;
static int lose_after = -1; /* queue calls until the device is lost; -1: never */
static int live, platforms = 1, devices = 1, null_objects;
static cl_uint last_param; /* of the call that failed */
static cl_uint lie_param;  /* of the number that is a lie, 0: none */
static cl_ulong lie_number;
static int binary_code; /* what the driver says of a binary */
static size_t lie_length; /* of every text, 0: the truth */
static const char *device_text = "  Fake device ";

struct count { char name[64]; int n; };
static struct count counts[64];

static int *count_of(const char *name) {
    for (int i = 0; i < 64; i++) {
        if (counts[i].name[0] == 0) snprintf(counts[i].name, 64, "%s", name);
        if (strcmp(counts[i].name, name) == 0) return &counts[i].n;
    }
    abort();
}

static void drop_pending(void);

void fake_reset(void) {
    drop_pending();
    fail_name[0] = 0;
    fail_code = fail_skip = live = null_objects = 0;
    lose_after = -1;
    platforms = devices = 1;
    lie_param = 0;
    binary_code = 0;
    lie_length = 0;
    device_text = "  Fake device ";
    memset(counts, 0, sizeof counts);
}
void fake_fail(const char *name, int code, int skip) {
    snprintf(fail_name, sizeof fail_name, "%s", name);
    fail_code = code;
    fail_skip = skip;
}
void fake_lose(int after) { lose_after = after; }
void fake_platforms(int n) { platforms = n; }
void fake_devices(int n) { devices = n; }
void fake_null_objects(int on) { null_objects = on; }
void fake_lie(cl_uint param, cl_ulong number) { lie_param = param; lie_number = number; }
void fake_binary(int code) { binary_code = code; }
void fake_length(cl_ulong length) { lie_length = length; }
void fake_name(const char *text) { static char kept[4096]; snprintf(kept, sizeof kept, "%s", text); device_text = kept; }
/* Leaves the thread with another rounding mode, after some time. */
cl_int fake_round_up(cl_uint microseconds) {
    fesetround(FE_UPWARD);
    if (microseconds) usleep(microseconds);
    return 0;
}
int fake_live(void) { return live; }
int fake_calls(const char *name) { return *count_of(name); }
cl_uint fake_last_param(void) { return last_param; }

static cl_int enter(const char *name, cl_uint param) {
    ++*count_of(name);
    if (strcmp(name, fail_name) == 0 && fail_skip-- == 0) {
        last_param = param;
        return fail_code;
    }
    return 0;
}
#define ENTER(name, param) \
    do { cl_int c_ = enter(#name, param); if (c_) return c_; } while (0)
#define ENTER_QUEUE(name) \
    do { ENTER(name, 0); if (lose_after == 0) return -36; if (lose_after > 0) lose_after--; } while (0)
#define ENTER_CREATE(name) \
    do { \
        cl_int c_ = enter(#name, 0); \
        *code = c_; \
        if (c_ || null_objects) return NULL; \
    } while (0)

/* ---- objects ---- */

struct mem { size_t size; unsigned char *data; };
struct transfer { struct transfer *next; void *to; const void *from; size_t size; };
struct object { int unused; };

static struct object the_platform, the_device;
static struct transfer *pending;

static void *create(size_t size) { live++; return calloc(1, size); }
static cl_int destroy(void *p) { live--; free(p); return 0; }

static void run_pending(void) {
    while (pending) {
        struct transfer *t = pending;
        pending = t->next;
        memcpy(t->to, t->from, t->size);
        free(t);
    }
}
/* What a test left under way: its buffers are gone. */
static void drop_pending(void) {
    while (pending) {
        struct transfer *t = pending;
        pending = t->next;
        free(t);
    }
}
static void move(int blocking, void *to, const void *from, size_t size) {
    struct transfer **last = &pending, *t = malloc(sizeof *t);
    *t = (struct transfer){NULL, to, from, size};
    while (*last) last = &(*last)->next;
    *last = t;
    if (blocking) run_pending();
}
static void signal_event(void **event) { if (event) *event = create(sizeof(struct object)); }

static cl_int answer(const void *from, size_t n, size_t size, void *value, size_t *got) {
    if (value && size < n) return INVALID_VALUE;
    if (value) memcpy(value, from, n);
    if (got) *got = n;
    return 0;
}
static cl_int text(const char *s, size_t size, void *value, size_t *got) {
    if (lie_length && !value) {
        *got = lie_length;
        return 0;
    }
    return answer(s, strlen(s) + 1, size, value, got);
}
static cl_int number(cl_ulong x, size_t n, size_t size, void *value, size_t *got) {
    return answer(&x, n, size, value, got); /* little-endian */
}

/* ---- platforms and devices ---- */

cl_int clGetPlatformIDs(cl_uint n, void **ids, cl_uint *got) {
    ENTER(clGetPlatformIDs, 0);
#ifdef NO_ICD
    static int known, found;
    if (!known) { known = 1; found = getenv("OCL_ICD_VENDORS") && *getenv("OCL_ICD_VENDORS"); }
    if (!found) return PLATFORM_NOT_FOUND;
#endif
    if (platforms < 0) return PLATFORM_NOT_FOUND;
    if (got) *got = platforms;
    if (ids && n > 0) ids[0] = &the_platform;
    return 0;
}
cl_int clGetPlatformInfo(void *p, cl_uint name, size_t size, void *value, size_t *got) {
    ENTER(clGetPlatformInfo, name);
    switch (name) {
    case 0x0901: return text("OpenCL 1.2 fake platform", size, value, got);
    case 0x0902: return text("Fake platform", size, value, got);
    }
    return INVALID_VALUE;
}
cl_int clGetDeviceIDs(void *p, cl_ulong type, cl_uint n, void **ids, cl_uint *got) {
    ENTER(clGetDeviceIDs, 0);
    if (devices == 0) return DEVICE_NOT_FOUND;
    if (got) *got = devices;
    if (ids && n > 0) ids[0] = &the_device;
    return 0;
}
cl_int clGetDeviceInfo(void *d, cl_uint name, size_t size, void *value, size_t *got) {
    static const cl_uint pci[4] = {1, 0x3b, 2, 3};
    static const unsigned char uuid[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    ENTER(clGetDeviceInfo, name);
    if (name == lie_param) return number(lie_number, name == 0x1002 || name == 0x103A || name == 0x103B ? 4 : 8, size, value, got);
    switch (name) {
    case 0x1000: return number(4, 8, size, value, got);
    case 0x1002: return number(7, 4, size, value, got);
    case 0x1010: return number(1u << 28, 8, size, value, got);
    case 0x101F: return number(1u << 30, 8, size, value, got);
    case 0x1023: return number(32768, 8, size, value, got);
    case 0x102B: return text(device_text, size, value, got);
    case 0x102C: return text("Fakers", size, value, got);
    case 0x102D: return text("0.1", size, value, got);
    case 0x102F: return text("OpenCL 1.2 fake", size, value, got);
    case 0x1030: return text("cl_khr_pci_bus_info cl_khr_device_uuid", size, value, got);
    case 0x1032: return number(0x3f, 8, size, value, got);
    case 0x103A: return number(4, 4, size, value, got);
    case 0x103B: return number(2, 4, size, value, got);
    case 0x103D: return text("OpenCL C 1.2 fake", size, value, got);
    case 0x106A: return answer(uuid, sizeof uuid, size, value, got);
    case 0x410F: return answer(pci, sizeof pci, size, value, got);
    }
    return INVALID_VALUE;
}

/* ---- contexts, queues, buffers, programs, kernels ---- */

void *clCreateContext(const intptr_t *props, cl_uint n, void *const *ids, void *notify, void *user, cl_int *code) {
    ENTER_CREATE(clCreateContext);
    if (n != 1 || ids[0] != &the_device || props[0] != 0x1084 || props[1] != (intptr_t)&the_platform || props[2] != 0) {
        *code = INVALID_VALUE;
        return NULL;
    }
    return create(sizeof(struct object));
}
cl_int clReleaseContext(void *o) { ENTER(clReleaseContext, 0); return destroy(o); }

void *clCreateCommandQueue(void *context, void *device, cl_ulong properties, cl_int *code) {
    ENTER_CREATE(clCreateCommandQueue);
    return create(sizeof(struct object));
}
cl_int clReleaseCommandQueue(void *o) { ENTER(clReleaseCommandQueue, 0); return destroy(o); }
cl_int clFinish(void *q) { ENTER_QUEUE(clFinish); run_pending(); return 0; }

void *clCreateBuffer(void *context, cl_ulong flags, size_t size, void *host, cl_int *code) {
    ENTER_CREATE(clCreateBuffer);
    struct mem *m = create(sizeof *m);
    m->size = size;
    m->data = calloc(1, size);
    return m;
}
cl_int clReleaseMemObject(struct mem *m) {
    ENTER(clReleaseMemObject, 0);
    run_pending(); /* a buffer stays until the commands that use it have ended */
    free(m->data);
    return destroy(m);
}

static char source[4096]; /* the binary is the source, too */

void *clCreateProgramWithSource(void *context, cl_uint n, const char **texts, const size_t *lengths, cl_int *code) {
    ENTER_CREATE(clCreateProgramWithSource);
    size_t end = 0;
    for (cl_uint i = 0; i < n; i++) {
        size_t len = lengths[i] ? lengths[i] : strlen(texts[i]);
        if (end + len >= sizeof source) abort();
        memcpy(source + end, texts[i], len); /* a wrong length is seen as a zero */
        end += len;
    }
    source[end] = 0;
    return create(sizeof(struct object));
}
void *clCreateProgramWithBinary(void *context, cl_uint n, void *const *ids, const size_t *lengths, const char **binaries,
                                cl_int *status, cl_int *code) {
    ENTER_CREATE(clCreateProgramWithBinary);
    if (n != 1 || ids[0] != &the_device || lengths[0] >= sizeof source) abort();
    memcpy(source, binaries[0], lengths[0]);
    source[lengths[0]] = 0;
    *status = binary_code;
    return create(sizeof(struct object));
}
cl_int clGetProgramInfo(void *p, cl_uint name, size_t size, void *value, size_t *got) {
    ENTER(clGetProgramInfo, name);
    if (name == 0x1165) return number(lie_param == name ? lie_number : strlen(source), sizeof(size_t), size, value, got);
    if (name != 0x1166 || size != sizeof(char *)) return INVALID_VALUE;
    memcpy(*(char **)value, source, strlen(source));
    return 0;
}
cl_int clBuildProgram(void *p, cl_uint n, void *const *ids, const char *options, void *notify, void *user) {
    ENTER(clBuildProgram, 0);
    return 0;
}
/* The log is the source: so a test sees what arrived. */
cl_int clGetProgramBuildInfo(void *p, void *d, cl_uint name, size_t size, void *value, size_t *got) {
    ENTER(clGetProgramBuildInfo, name);
    return name == 0x1183 ? text(source, size, value, got) : INVALID_VALUE;
}
cl_int clReleaseProgram(void *o) { ENTER(clReleaseProgram, 0); return destroy(o); }

void *clCreateKernel(void *program, const char *name, cl_int *code) {
    ENTER_CREATE(clCreateKernel);
    return create(sizeof(struct object));
}
cl_int clGetKernelWorkGroupInfo(void *k, void *d, cl_uint name, size_t size, void *value, size_t *got) {
    ENTER(clGetKernelWorkGroupInfo, name);
    return name == 0x11B0 ? number(name == lie_param ? lie_number : 48, sizeof(size_t), size, value, got) : INVALID_VALUE;
}
cl_int clSetKernelArg(void *k, cl_uint index, size_t size, const void *value) {
    ENTER(clSetKernelArg, index);
    return index < 2 ? 0 : -49;
}
cl_int clReleaseKernel(void *o) { ENTER(clReleaseKernel, 0); return destroy(o); }

/* ---- commands ---- */

cl_int clEnqueueNDRangeKernel(void *q, void *k, cl_uint dims, const size_t *offset, const size_t *global,
                              const size_t *local, cl_uint n, void *const *wait, void **event) {
    ENTER_QUEUE(clEnqueueNDRangeKernel);
    if (dims < 1 || dims > 3) return -53;
    signal_event(event);
    return 0;
}
cl_int clEnqueueReadBuffer(void *q, struct mem *m, cl_uint blocking, size_t offset, size_t size, void *data,
                           cl_uint n, void *const *wait, void **event) {
    ENTER_QUEUE(clEnqueueReadBuffer);
    if (size == 0) return INVALID_VALUE;
    move(blocking, data, m->data + offset, size);
    signal_event(event);
    return 0;
}
cl_int clEnqueueWriteBuffer(void *q, struct mem *m, cl_uint blocking, size_t offset, size_t size, const void *data,
                            cl_uint n, void *const *wait, void **event) {
    ENTER_QUEUE(clEnqueueWriteBuffer);
    if (size == 0) return INVALID_VALUE;
    move(blocking, m->data + offset, data, size);
    signal_event(event);
    return 0;
}
#ifndef OMIT
cl_int clEnqueueFillBuffer(void *q, struct mem *m, const void *pattern, size_t length, size_t offset, size_t size,
                           cl_uint n, void *const *wait, void **event) {
    ENTER_QUEUE(clEnqueueFillBuffer);
    if (size == 0 || size % length || offset % length) return INVALID_VALUE;
    run_pending();
    for (size_t i = 0; i < size; i += length) memcpy(m->data + offset + i, pattern, length);
    signal_event(event);
    return 0;
}
#endif
/* ---- events ---- */

cl_int clGetEventProfilingInfo(void *e, cl_uint name, size_t size, void *value, size_t *got) {
    ENTER(clGetEventProfilingInfo, name);
    return number(1000 * (cl_ulong)(name - 0x1280), 8, size, value, got);
}
cl_int clReleaseEvent(void *o) { ENTER(clReleaseEvent, 0); return destroy(o); }
