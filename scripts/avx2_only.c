/* A processor without AVX-512, AMX and AVX-VNNI, as far as a program can tell.
 *
 * Preloaded, it lets every CPUID instruction fault (Linux, processors with cpuid_fault) and answers
 * in its place. XGETBV still tells of wide registers, but libraries ask for both.
 */

#define _GNU_SOURCE
#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define BIT(n) (1u << (n))

enum { FEATURES = 7 };

struct registers {
    unsigned eax, ebx, ecx, edx;
};

static const struct registers hidden[] = {
    /* AVX-512 F, DQ, IFMA, PF, ER, CD, BW, VL; VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ; 4VNNIW,
     * 4FMAPS, VP2INTERSECT, FP16; AMX BF16, TILE, INT8 */
    {.ebx = BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31),
     .ecx = BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14),
     .edx = BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25)},
    /* AVX-VNNI, AVX512-BF16, AMX-FP16, AVX-IFMA; AVX-VNNI-INT8, AVX-NE-CONVERT, AMX-COMPLEX,
     * AVX-VNNI-INT16, AVX10 */
    {.eax = BIT(4) | BIT(5) | BIT(21) | BIT(23),
     .edx = BIT(4) | BIT(5) | BIT(8) | BIT(10) | BIT(19)},
};

/* What the program wants done about other faults. */
static struct sigaction theirs;

int __sigaction(int number, const struct sigaction *wanted, struct sigaction *old);

static long let_cpuid_fault(int fault)
{
    return syscall(SYS_arch_prctl, ARCH_SET_CPUID, (unsigned long)!fault);
}

static struct registers shown(unsigned leaf, unsigned part)
{
    struct registers found;
    __cpuid_count(leaf, part, found.eax, found.ebx, found.ecx, found.edx);
    if (leaf == FEATURES && part < sizeof hidden / sizeof *hidden) {
        found.eax &= ~hidden[part].eax;
        found.ebx &= ~hidden[part].ebx;
        found.ecx &= ~hidden[part].ecx;
        found.edx &= ~hidden[part].edx;
    }
    return found;
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    if (theirs.sa_handler != SIG_DFL && theirs.sa_handler != SIG_IGN) {
        theirs.sa_sigaction(number, info, context);
        return;
    }
    __sigaction(number, &theirs, NULL);
    if (info->si_code <= 0) /* Sent by a process; a true fault comes again by itself. */
        raise(number);
}

static void answer(int number, siginfo_t *info, void *context)
{
    greg_t *at = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)at[REG_RIP];
    /* Only a fault that the kernel did not blame on an address leaves the code readable. */
    if (info->si_code != SI_KERNEL || code[0] != 0x0f || code[1] != 0xa2) {
        pass_on(number, info, context);
        return;
    }
    let_cpuid_fault(0);
    struct registers found = shown((unsigned)at[REG_RAX], (unsigned)at[REG_RCX]);
    let_cpuid_fault(1);
    at[REG_RAX] = found.eax;
    at[REG_RBX] = found.ebx;
    at[REG_RCX] = found.ecx;
    at[REG_RDX] = found.edx;
    at[REG_RIP] += 2;
}

/* Compilers catch their own faults, and ask CPUID after that. */
int sigaction(int number, const struct sigaction *wanted, struct sigaction *old)
{
    if (number != SIGSEGV)
        return __sigaction(number, wanted, old);
    struct sigaction last = theirs;
    if (wanted)
        theirs = *wanted;
    if (old)
        *old = last;
    return 0;
}

sighandler_t signal(int number, sighandler_t handler)
{
    struct sigaction wanted = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    return sigaction(number, &wanted, &old) ? SIG_ERR : old.sa_handler;
}

/* Threads and forks inherit the fault; a program that is executed loads this again. */
__attribute__((constructor)) static void start(void)
{
    struct sigaction ours = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (__sigaction(SIGSEGV, &ours, &theirs) || let_cpuid_fault(1)) {
        perror("avx2_only: this processor or kernel cannot let CPUID fault");
        exit(EXIT_FAILURE);
    }
}
