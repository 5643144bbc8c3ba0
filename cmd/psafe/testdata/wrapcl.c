/* An OpenCL library that passes everything on to a real one, until it does not: the
   strangers of stranger_test.go. It knows where a function's arguments lie and not what
   they mean, so it is for 64-bit Linux.

   PSAFE_WRAP       "ACTION FUNCTION N": what happens at the N-th call of a function, or of any; the action
                    may be a number: the code that this call returns and all calls of that function from
                    then on, or this one alone with an x behind it
   PSAFE_WRAP_COUNTS  a file for how often each function was called: 44 bytes of a name and a number each
   PSAFE_WRAP_WHEN  a file: calls count only while it has something in it
   PSAFE_WRAP_GPU   if set, every device says that it is a GPU
   PSAFE_WRAP_LIE   "PARAM NUMBER": what clGetDeviceInfo answers, in 8 bytes
   PSAFE_WRAP_KERNEL "KERNEL N": from its N-th launch on, what a kernel writes to its first argument
                    begins with a wrong number
   PSAFE_WRAP_NAME  what every device calls itself
   PSAFE_WRAP_CONTROL  "WHEN MODE": the processor's control word in the calling thread is
                    changed, at load, before or after each call, and left so, which the
                    ABI forbids; up, down and zero are how it rounds, ftz and daz flush
                    subnormal results and arguments
   PSAFE_WRAP_REAL  the real library, libOpenCL.so.1 if unset; opened when first needed */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef uint64_t W; /* any argument */

static int lying; /* the action that changes answers has begun */
static int failing, fails_once; /* the code of calls that fail */

static void *segv(void *unused) { *(volatile int *)16 = 1; return unused; }

static void act(const char *action) {
    if (!strcmp(action, "segv")) segv(NULL);
    if (!strcmp(action, "abort")) abort();
    if (!strcmp(action, "exit0")) exit(0);
    if (!strcmp(action, "exit3")) { fprintf(stderr, "no licence\033[2J\n"); exit(3); }
    if (!strcmp(action, "kill")) raise(SIGKILL);
    if (!strcmp(action, "hang")) for (;;) pause();
    if (!strcmp(action, "flood")) for (;;) puts("a driver that talks and talks");
    if (!strcmp(action, "talk")) { puts("{\"index\":0}"); fflush(stdout); }
    if (!strcmp(action, "thread")) {
        pthread_t t;
        pthread_create(&t, NULL, segv, NULL);
        pthread_join(t, NULL);
    }
    if (!strcmp(action, "report")) for (int i = 0; i < 100000; i++) (void)!write(3, "device {\"id\":\"0:0\"}\n", 20);
    if (!strcmp(action, "lie")) lying = 1;
    if (atoi(action)) failing = atoi(action), fails_once = strchr(action, 'x') != NULL;
}

static void control(const char *now) {
    const char *what = getenv("PSAFE_WRAP_CONTROL");
    char when[8], mode[8];
    if (!what) return;
    if (sscanf(what, "%7s %7s", when, mode) != 2) abort();
    if (strcmp(when, now)) return;
#define IS(x) !strcmp(mode, x)
#ifdef __x86_64__
    unsigned word = __builtin_ia32_stmxcsr();
    word = IS("ftz") ? word | 0x8000 : IS("daz") ? word | 0x40 : word & ~0x6000u | (IS("down") ? 0x2000 : IS("up") ? 0x4000 : 0x6000);
    __builtin_ia32_ldmxcsr(word);
#else
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    word = IS("ftz") || IS("daz") ? word | 1 << 24 : word & ~(3ull << 22) | (IS("up") ? 1 << 22 : IS("down") ? 2 << 22 : 3 << 22);
    __asm__ volatile("msr fpcr, %0" : : "r"(word));
#endif
}

__attribute__((constructor)) static void loaded(void) { control("load"); }

/* How often each function was called, in the file of PSAFE_WRAP_COUNTS, which whoever ends the process
   leaves as it is. */
static void count(const char *name) {
    static struct { char name[44]; uint32_t n; } *counts;
    const char *path = getenv("PSAFE_WRAP_COUNTS");
    if (!path) return;
    if (!counts) {
        int f = open(path, O_RDWR | O_CREAT, 0666);
        if (f < 0 || ftruncate(f, 64 * sizeof *counts)) abort();
        counts = mmap(NULL, 64 * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
    }
    int i = 0;
    while (*counts[i].name && strcmp(counts[i].name, name)) i++;
    strcpy(counts[i].name, name);
    counts[i].n++;
}

/* The code that a call fails with, 0 if it does not. */
static int enter(const char *name) {
    control("before");
    count(name);
    static int calls, started;
    static char action[32], function[64];
    static int n;
    const char *what = getenv("PSAFE_WRAP"), *when = getenv("PSAFE_WRAP_WHEN");
    if (!what) return 0;
    if (!started) { started = 1; if (sscanf(what, "%31s %63s %d", action, function, &n) != 3) abort(); }
    struct stat s;
    if (strcmp("any", function) && strcmp(name, function) || when && (stat(when, &s) || s.st_size == 0)) return 0;
    if (++calls == n) act(action);
    return calls == n || !fails_once ? failing : 0;
}

static void *real(const char *name) {
    static void *lib;
    const char *path = getenv("PSAFE_WRAP_REAL");
    if (!lib) lib = dlopen(path ? path : "libOpenCL.so.1", RTLD_NOW);
    void *f = lib ? dlsym(lib, name) : NULL;
    if (!f) abort();
    return f;
}

#define PARAMS W a, W b, W c, W d, W e, W f, W g, W h, W i, W j
#define ARGS a, b, c, d, e, f, g, h, i, j
#define FORWARD(name)                             \
    static void *next;                            \
    int code_ = enter(#name);                     \
    if (code_) return (W)(int64_t)code_;          \
    if (!next) next = real(#name);                \
    W got = ((W(*)(PARAMS))next)(ARGS);           \
    control("after");
#define WRAP(name) W name(PARAMS) { FORWARD(name) return got; }
/* What returns an object has a place for the code. */
#define FORWARD_CREATE(name, code)                \
    static void *next;                            \
    int code_ = enter(#name);                     \
    if (code_) { *(int32_t *)code = code_; return 0; } \
    if (!next) next = real(#name);                \
    W got = ((W(*)(PARAMS))next)(ARGS);           \
    control("after");
#define WRAP_CREATE(name, code) W name(PARAMS) { FORWARD_CREATE(name, code) return got; }

/* More platforms than there can be. */
W clGetPlatformIDs(PARAMS) {
    int code = enter("clGetPlatformIDs");
    if (code) return (W)(int64_t)code;
    if (lying) {
        if (c) *(uint32_t *)c = 4000000000u;
        return 0;
    }
    W got = ((W(*)(PARAMS))real("clGetPlatformIDs"))(ARGS);
    control("after");
    return got;
}

W clGetDeviceInfo(PARAMS) {
    FORWARD(clGetDeviceInfo)
    unsigned param;
    unsigned long long number;
    const char *name = getenv("PSAFE_WRAP_NAME"), *lie = getenv("PSAFE_WRAP_LIE");
    if ((uint32_t)b == 0x1000 && d && getenv("PSAFE_WRAP_GPU")) *(uint64_t *)d = 4;
    if ((uint32_t)b == 0x102B && name) {
        if (e) *(size_t *)e = strlen(name) + 1;
        if (d) memcpy((void *)d, name, strlen(name) + 1);
        return 0;
    }
    if (lie && sscanf(lie, "%x %llu", &param, &number) == 2 && (uint32_t)b == param && d) memcpy((void *)d, &number, c < 8 ? c : 8);
    return got;
}

/* Results, but not receipts, lose their minus signs. */
W clEnqueueReadBuffer(PARAMS) {
    FORWARD(clEnqueueReadBuffer)
    if (lying && e < 4096)
        for (uint32_t *w = (uint32_t *)f; w < (uint32_t *)(f + e); w++) *w &= 0x7fffffff;
    return got;
}

/* What is written loses them. */
W clEnqueueWriteBuffer(PARAMS) {
    if (lying)
        for (uint32_t *w = (uint32_t *)f; w < (uint32_t *)(f + e); w++) *w &= 0x7fffffff;
    FORWARD(clEnqueueWriteBuffer)
    return got;
}

/* A kernel that is wrong for good. */
static W wrong_kernel, wrong_memory;

W clCreateKernel(PARAMS) {
    FORWARD_CREATE(clCreateKernel, c)
    char name[64];
    const char *wrong = getenv("PSAFE_WRAP_KERNEL");
    if (wrong && sscanf(wrong, "%63s", name) == 1 && !strcmp(name, (const char *)b)) wrong_kernel = got;
    return got;
}

W clSetKernelArg(PARAMS) {
    FORWARD(clSetKernelArg)
    if (wrong_kernel && a == wrong_kernel && (uint32_t)b == 0) wrong_memory = *(W *)d;
    return got;
}

W clEnqueueNDRangeKernel(PARAMS) {
    FORWARD(clEnqueueNDRangeKernel)
    static int launches, from;
    static W (*fill)(W, W, const void *, W, W, W, W, W, W);
    if (!wrong_kernel || b != wrong_kernel) return got;
    if (!fill) {
        sscanf(getenv("PSAFE_WRAP_KERNEL"), "%*s %d", &from);
        fill = real("clEnqueueFillBuffer");
    }
    static const float wrong = -0.75f;
    if (++launches >= from) fill(a, wrong_memory, &wrong, sizeof wrong, 0, sizeof wrong, 0, 0, 0);
    return got;
}

WRAP(clGetPlatformInfo) WRAP(clGetDeviceIDs)
WRAP_CREATE(clCreateContext, f) WRAP(clReleaseContext)
WRAP_CREATE(clCreateCommandQueue, d) WRAP(clReleaseCommandQueue) WRAP(clFinish)
WRAP_CREATE(clCreateBuffer, e) WRAP(clReleaseMemObject)
WRAP_CREATE(clCreateProgramWithSource, e) WRAP(clBuildProgram) WRAP(clGetProgramBuildInfo) WRAP(clReleaseProgram)
WRAP(clGetKernelWorkGroupInfo) WRAP(clReleaseKernel)
WRAP(clEnqueueFillBuffer) WRAP(clEnqueueMarkerWithWaitList)
WRAP(clWaitForEvents) WRAP(clGetEventInfo) WRAP(clGetEventProfilingInfo) WRAP(clReleaseEvent)
