// The half of the driver that computes: libcuda. What to say stands in the environment.
// With CUDA_VISIBLE_DEVICES set, it counts FAKE_VISIBLE GPUs.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int number(const char *name, int otherwise) { char *s = getenv(name); return s ? atoi(s) : otherwise; }
static int count(void) {
    int all = number("FAKE_COUNT", 0);
    return getenv("CUDA_VISIBLE_DEVICES") ? number("FAKE_VISIBLE", all) : all;
}
int cuDriverGetVersion(int *v) { *v = number("FAKE_DRIVER", 13000); return 0; }
int cuInit(unsigned f) {
    if (number("FAKE_DRIVER_HANGS", 0)) sleep(60);
    int code = number("FAKE_CUINIT", 0);
    return code ? code : count() ? 0 : 100;
}
int cuDeviceGetCount(int *n) { *n = count(); return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; }
int cuDeviceGetName(char *s, int n, int d) { strncpy(s, "Fake GPU", n); return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) {
    int c = number("FAKE_CAPABILITY", 86);
    *v = a == 75 ? c / 10 : a == 76 ? c % 10 : number("FAKE_MODE", 0);
    return 0;
}
