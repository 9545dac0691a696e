// The engine: runs the grid of a kernel that was compiled for the host.
//
// Blocks run one after the other. A kernel without barriers is called for one thread after the other. In one with
// barriers every thread of the block is a fiber with a stack of its own: it runs until it comes to a barrier, then the
// next one runs, and when all have come to theirs they go on. Fibers are kept from block to block and from launch to
// launch. They are started by setcontext and from then on changed by _setjmp and _longjmp, which unlike swapcontext
// make no system call.
//
// An access to memory that is not there ends the launch and not the process: see on_fault.
//
// Everything here has one copy: the caller holds the GIL while a kernel runs.

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>

struct Index {  // laid out as CUDA's uint3 and dim3
    unsigned x, y, z;
};

extern "C" {
Index threadIdx, blockIdx, blockDim, gridDim;
}

namespace {

constexpr unsigned MAX_THREADS = 1024, WARP = 32, NOBODY = ~0u;
constexpr size_t STACK = 128 * 1024, GUARD = 4096, DYNAMIC_SHARED = 48 * 1024;

enum State { READY, AT_BLOCK_BARRIER, AT_WARP_BARRIER, DONE };

struct Fiber {
    ucontext_t start;
    jmp_buf here;
    void* stack = nullptr;
    bool begun = false;
    State state = READY;
    unsigned mask = 0;  // of the threads it waits for at a warp barrier
};

typedef void (*Entry)(void** arguments);

Fiber fibers[MAX_THREADS];
jmp_buf scheduler;
unsigned current = NOBODY;  // the fiber that runs; NOBODY where threads are plain calls
Entry entry;
void** arguments;
std::string failure;
sigjmp_buf rescue;      // where a launch goes on after a fault
pthread_t launcher;     // the thread that launches
void* fault_address;
char fault_stack[64 * 1024];  // for the handler: a fiber that overflowed has none left

std::string where() {
    char text[96];
    snprintf(text, sizeof text, "block (%u, %u, %u), thread (%u, %u, %u)", blockIdx.x, blockIdx.y, blockIdx.z,
             threadIdx.x, threadIdx.y, threadIdx.z);
    return text;
}

}  // namespace

extern "C" {
alignas(16) static char dynamic_shared[DYNAMIC_SHARED];
char* host_dynamic_shared = dynamic_shared;
alignas(16) char host_exchange[MAX_THREADS][16];

unsigned host_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }

void host_fail(const char* why, const char* file, int line) {
    throw std::runtime_error(std::string(why) + ", line " + std::to_string(line) + " of " + file + ", " + where());
}
}

namespace {

void run_thread() {
    try {
        entry(arguments);
    } catch (const std::exception& error) {
        if (failure.empty()) failure = error.what();
    }
}

void set_thread(unsigned number) {
    threadIdx = {number % blockDim.x, number / blockDim.x % blockDim.y, number / (blockDim.x * blockDim.y)};
}

void give_up_control() {
    if (_setjmp(fibers[current].here) == 0) _longjmp(scheduler, 1);
}

void live() {  // of a fiber: one thread after the other, of whatever kernel
    for (;;) {
        run_thread();
        fibers[current].state = DONE;
        give_up_control();
    }
}

void begin(Fiber& fiber) {
    if (!fiber.stack) {
        void* memory = mmap(nullptr, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            failure = "no memory for the stack of a thread";
            return;
        }
        mprotect(memory, GUARD, PROT_NONE);  // an overflow is a fault and no damage
        fiber.stack = static_cast<char*>(memory) + GUARD;
    }
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack;
    fiber.start.uc_stack.ss_size = STACK;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, live, 0);
    fiber.begun = true;
    setcontext(&fiber.start);
}

void resume(unsigned number) {  // until its next barrier or its end
    current = number;
    set_thread(number);
    if (_setjmp(scheduler) == 0) {
        if (fibers[number].begun) _longjmp(fibers[number].here, 1);
        begin(fibers[number]);
    }
    current = NOBODY;
}

void wait(State barrier, unsigned mask) {
    if (current == NOBODY) throw std::runtime_error("a barrier in a kernel that was taken to have none");
    fibers[current].state = barrier;
    fibers[current].mask = mask;
    give_up_control();
}

// Threads that have ended are not waited for, as on devices since sm_70.
bool release_block(unsigned threads) {
    for (unsigned t = 0; t < threads; t++)
        if (fibers[t].state == AT_WARP_BARRIER) return false;
    bool any = false;
    for (unsigned t = 0; t < threads; t++)
        if (fibers[t].state == AT_BLOCK_BARRIER) fibers[t].state = READY, any = true;
    return any;
}

bool warp_complete(unsigned first, unsigned mask, unsigned threads) {
    for (unsigned lane = 0; lane < WARP && first + lane < threads; lane++) {
        const Fiber& fiber = fibers[first + lane];
        const bool awaited = mask >> lane & 1 && fiber.state != DONE;
        if (awaited && !(fiber.state == AT_WARP_BARRIER && fiber.mask == mask)) return false;
    }
    return true;
}

bool release_warps(unsigned threads) {
    bool any = false;
    for (unsigned t = 0; t < threads; t++) {
        const unsigned first = t / WARP * WARP, mask = fibers[t].mask;
        if (fibers[t].state != AT_WARP_BARRIER || !warp_complete(first, mask, threads)) continue;
        for (unsigned lane = 0; lane < WARP && first + lane < threads; lane++)
            if (mask >> lane & 1 && fibers[first + lane].state != DONE) fibers[first + lane].state = READY;
        any = true;
    }
    return any;
}

void run_ready(unsigned threads) {
    for (unsigned t = 0; t < threads && failure.empty(); t++)
        if (fibers[t].state == READY) resume(t);
}

// Fibers that are in the middle of a kernel start afresh the next time; whether there are any.
bool abandon(unsigned threads) {
    bool any = false;
    for (unsigned t = 0; t < threads; t++)
        if (fibers[t].state != DONE) fibers[t].begun = false, any = true;
    return any;
}

void run_block_of_fibers(unsigned threads) {
    for (unsigned t = 0; t < threads; t++) fibers[t].state = READY;
    do {
        run_ready(threads);
    } while (failure.empty() && (release_warps(threads) || release_block(threads)));
    if (abandon(threads) && failure.empty()) failure = "deadlock: the threads of a block wait at different barriers";
}

void run_block_of_calls(unsigned threads) {
    for (unsigned t = 0; t < threads && failure.empty(); t++) {
        set_thread(t);
        run_thread();
    }
}

void run_grid(unsigned shared, bool barriers) {
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    for (unsigned z = 0; z < gridDim.z; z++)
        for (unsigned y = 0; y < gridDim.y; y++)
            for (unsigned x = 0; x < gridDim.x && failure.empty(); x++) {
                blockIdx = {x, y, z};
                memset(dynamic_shared, 0xFF, shared);  // what the block before left is not there on a device either
                barriers ? run_block_of_fibers(threads) : run_block_of_calls(threads);
            }
}

void on_fault(int number, siginfo_t* info, void*) {
    if (!pthread_equal(pthread_self(), launcher)) {  // no kernel's: it happens again, and takes its course
        signal(number, SIG_DFL);
        return;
    }
    fault_address = info->si_addr;
    siglongjmp(rescue, 1);
}

// While it lives, faults come to on_fault.
class Guard {
    struct sigaction segv_before, bus_before;
    stack_t stack_before;

   public:
    Guard() {
        launcher = pthread_self();
        stack_t stack = {};
        stack.ss_sp = fault_stack;
        stack.ss_size = sizeof fault_stack;
        sigaltstack(&stack, &stack_before);
        struct sigaction action = {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigaction(SIGSEGV, &action, &segv_before);
        sigaction(SIGBUS, &action, &bus_before);
    }
    ~Guard() {
        sigaction(SIGSEGV, &segv_before, nullptr);
        sigaction(SIGBUS, &bus_before, nullptr);
        sigaltstack(&stack_before, nullptr);
    }
};

}  // namespace

extern "C" {

void host_block_barrier() { wait(AT_BLOCK_BARRIER, 0); }

void host_warp_barrier(unsigned mask) {
    if (!(mask >> host_thread() % WARP & 1)) throw std::runtime_error("a warp operation without its own thread");
    wait(AT_WARP_BARRIER, mask);
}

// Runs the whole grid; sizes are those of grid and block, x, y and z. Returns what went wrong, or nothing.
const char* host_launch(Entry kernel, void** kernel_arguments, const unsigned* sizes, unsigned shared, int barriers) {
    failure.clear();
    if (shared > DYNAMIC_SHARED) return "more than 48 KB of dynamic shared memory";
    entry = kernel;
    arguments = kernel_arguments;
    gridDim = {sizes[0], sizes[1], sizes[2]};
    blockDim = {sizes[3], sizes[4], sizes[5]};
    Guard guard;
    if (sigsetjmp(rescue, 0) == 0) {
        run_grid(shared, barriers);
    } else {
        char text[64];
        snprintf(text, sizeof text, "no memory at %p, ", fault_address);
        failure = text + where();
        if (barriers) abandon(blockDim.x * blockDim.y * blockDim.z);
        current = NOBODY;
    }
    return failure.empty() ? nullptr : failure.c_str();
}
}
