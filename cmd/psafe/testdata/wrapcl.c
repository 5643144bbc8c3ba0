/* An OpenCL library that passes everything on to a real one, until it does not: the
   strangers of stranger_test.go. It knows where a function's arguments lie and not what
   they mean, so it is for 64-bit Linux.

   PSAFE_WRAP       "ACTION FUNCTION N": what happens at the N-th call of a function, or of any; the action
                    may be a number: the code that this call returns and all calls of that function from
                    then on, or this one alone with an x behind it
   PSAFE_WRAP_COUNTS  a file for how often each function was called, each kernel launched and what PSAFE_WRAP_SPOIL can
                    name besides came: 44 bytes of a name and a number each
   PSAFE_WRAP_WHEN  a file: calls count only while it has something in it
   PSAFE_WRAP_GPU   if set, every device says that it is a GPU
   PSAFE_WRAP_LIE   "PARAM NUMBER": what clGetDeviceInfo answers, in 8 bytes
   PSAFE_WRAP_SPOIL "OF N HOW SEED ARG": what the N-th of some transfers or launches carries is wrong; OF
                    is write, read (but of receipts), receipts, or a kernel, of which argument ARG is
                    spoiled; HOW is put (it begins with a wrong number), bit (one is turned over),
                    signs (all are), half or kept (so much is what was there before), late (a write
                    takes place some launches later) or lost (a launch does not), and with a + behind
                    it all from then on are; the counts say how often as "spoiled"
   PSAFE_WRAP_NAME  what every device calls itself
   PSAFE_WRAP_BINARY  if set, the binary of a program is its source
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
        if (f < 0 || ftruncate(f, 256 * sizeof *counts)) abort();
        counts = mmap(NULL, 256 * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
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

/* What PSAFE_WRAP_SPOIL says. */
static struct { char of[64], how[16]; int n, argument, all; unsigned seed; } spoil;

/* Whether the next of some kind is to be spoiled. */
static int due(const char *of) {
    count(of);
    static int asked, n;
    const char *what = getenv("PSAFE_WRAP_SPOIL");
    if (!what) return 0;
    if (!asked) {
        asked = 1;
        if (sscanf(what, "%63s %d %15s %u %d", spoil.of, &spoil.n, spoil.how, &spoil.seed, &spoil.argument) != 5) abort();
        char *all = strchr(spoil.how, '+');
        if (all) *all = 0, spoil.all = 1;
    }
    return !strcmp(of, spoil.of) && (++n == spoil.n || spoil.all && n > spoil.n);
}

static int how(const char *word) { return !strcmp(spoil.how, word); }

/* Spoils what lies at now, where old was before; a bit is one of the first words. */
static void spoiled(char *now, const char *old, size_t bytes, size_t words) {
    static const float wrong = -0.75f;
    char *was = memcpy(malloc(bytes), now, bytes);
    uint32_t *w = (uint32_t *)now;
    if (how("put")) memcpy(now, &wrong, bytes < sizeof wrong ? bytes : sizeof wrong);
    if (how("bit")) w[spoil.seed % words] ^= 1u << (spoil.seed >> 16) % 32;
    if (how("signs")) for (size_t k = 0; k < bytes / 4; k++) w[k] ^= 0x80000000u;
    if (how("half")) memcpy(now + bytes / 8 * 4, old + bytes / 8 * 4, bytes - bytes / 8 * 4);
    if (how("kept") || how("late")) memcpy(now, old, bytes);
    if (memcmp(was, now, bytes)) count("spoiled");
    free(was);
}

typedef W (*transfer)(W, W, W, W, W, W, W, W, W);
static W ring; /* the first buffer that is filled */

W clEnqueueFillBuffer(PARAMS) {
    FORWARD(clEnqueueFillBuffer)
    if (!ring) ring = b;
    return got;
}

/* Results, but not receipts, lose their minus signs. */
W clEnqueueReadBuffer(PARAMS) {
    int bad = due(b == ring ? "receipts" : "read");
    char *old = bad ? memcpy(malloc(e), (void *)f, e) : NULL;
    FORWARD(clEnqueueReadBuffer)
    if (!c && (bad || lying)) ((W(*)(W))real("clFinish"))(a);
    if (lying && b != ring)
        for (uint32_t *w = (uint32_t *)f; w < (uint32_t *)(f + e); w++) *w &= 0x7fffffff;
    if (bad) spoiled((char *)f, old, e, e / 4);
    free(old);
    return got;
}

static struct { W queue, mem, offset, size; char *data; int launches; } late;

/* What is written loses them. */
W clEnqueueWriteBuffer(PARAMS) {
    if (b == late.mem) late.mem = 0;
    if (lying)
        for (uint32_t *w = (uint32_t *)f; w < (uint32_t *)(f + e); w++) *w &= 0x7fffffff;
    if (due("write")) { /* what is said and not written is never freed: the device may take its time */
        char *old = malloc(e), *said = memcpy(malloc(e), (void *)f, e);
        ((transfer)real("clEnqueueReadBuffer"))(a, b, 1, d, e, (W)old, 0, 0, 0);
        if (how("late")) {
            late.queue = a, late.mem = b, late.offset = d, late.size = e, late.launches = 1 + spoil.seed % 4;
            late.data = memcpy(malloc(e), said, e);
        }
        spoiled(said, old, e, e / 4);
        f = (W)said;
    }
    FORWARD(clEnqueueWriteBuffer)
    return got;
}

/* Kernels, and what their arguments of 8 bytes are. */
static struct { W kernel, arguments[64]; char name[64]; } kernels[256];

static int known(W kernel) {
    int k = 0;
    while (kernels[k].kernel && kernels[k].kernel != kernel) k++;
    return k;
}

W clCreateKernel(PARAMS) {
    FORWARD_CREATE(clCreateKernel, c)
    int k = known(got);
    kernels[k].kernel = got;
    snprintf(kernels[k].name, sizeof kernels[k].name, "%s", (const char *)b);
    return got;
}

W clSetKernelArg(PARAMS) {
    FORWARD(clSetKernelArg)
    if (c == 8 && d) kernels[known(a)].arguments[(uint32_t)b] = *(W *)d;
    return got;
}

W clEnqueueNDRangeKernel(PARAMS) {
    int k = known(b), bad = due(kernels[k].name);
    W mem = kernels[k].arguments[spoil.argument];
    transfer read = bad ? (transfer)real("clEnqueueReadBuffer") : NULL;
    size_t size = 0;
    char *old = NULL, *now = NULL;
    if (bad && how("lost")) {
        count("spoiled");
        return 0; /* nobody asks for an event */
    }
    if (bad) {
        ((W(*)(W, W, W, void *, W))real("clGetMemObjectInfo"))(mem, 0x1102, sizeof size, &size, 0);
        read(a, mem, 1, 0, size, (W)(old = malloc(size)), 0, 0, 0);
    }
    FORWARD(clEnqueueNDRangeKernel)
    if (bad) {
        size_t words = (size_t)1 << (spoil.seed >> 8) % 8;
        read(a, mem, 1, 0, size, (W)(now = malloc(size)), 0, 0, 0);
        spoiled(now, old, size, words < size / 4 ? words : size / 4);
        ((transfer)real("clEnqueueWriteBuffer"))(a, mem, 1, 0, size, (W)now, 0, 0, 0);
        free(old), free(now);
    }
    if (late.mem && --late.launches == 0) {
        ((transfer)real("clEnqueueWriteBuffer"))(late.queue, late.mem, 1, late.offset, late.size, (W)late.data, 0, 0, 0);
        late.mem = 0;
    }
    return got;
}

static struct { const char *text; size_t length; } program;

W clCreateProgramWithSource(PARAMS) {
    if (getenv("PSAFE_WRAP_BINARY")) {
        program.length = *(size_t *)d;
        program.text = memcpy(malloc(program.length), *(char **)c, program.length);
    }
    FORWARD_CREATE(clCreateProgramWithSource, e)
    return got;
}

W clCreateProgramWithBinary(PARAMS) {
    if (!getenv("PSAFE_WRAP_BINARY")) { FORWARD_CREATE(clCreateProgramWithBinary, g) return got; }
    int code = enter("clCreateProgramWithBinary");
    if (memcmp(*(char **)e, "#define", 7)) code = -42;
    *(int32_t *)f = *(int32_t *)g = code;
    return code ? 0 : ((W(*)(W, W, W, W, W))real("clCreateProgramWithSource"))(a, 1, e, d, g);
}

W clGetProgramInfo(PARAMS) {
    if (!getenv("PSAFE_WRAP_BINARY")) { FORWARD(clGetProgramInfo) return got; }
    int code = enter("clGetProgramInfo");
    if (code) return (W)(int64_t)code;
    if ((uint32_t)b == 0x1165) *(size_t *)d = program.length;
    if ((uint32_t)b == 0x1166) memcpy(*(char **)d, program.text, program.length);
    return 0;
}

WRAP(clGetPlatformInfo) WRAP(clGetDeviceIDs)
WRAP_CREATE(clCreateContext, f) WRAP(clReleaseContext)
WRAP_CREATE(clCreateCommandQueue, d) WRAP(clReleaseCommandQueue) WRAP(clFinish)
WRAP_CREATE(clCreateBuffer, e) WRAP(clReleaseMemObject)
WRAP(clBuildProgram) WRAP(clGetProgramBuildInfo) WRAP(clReleaseProgram)
WRAP(clGetKernelWorkGroupInfo) WRAP(clReleaseKernel)
WRAP(clGetEventProfilingInfo) WRAP(clReleaseEvent)
