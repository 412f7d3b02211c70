// The half of the driver that manages: NVML. What to say stands in the environment.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int number(const char *name, int otherwise) { char *s = getenv(name); return s ? atoi(s) : otherwise; }
int nvmlInit_v2(void) { if (number("FAKE_NVML_HANGS", 0)) sleep(60); return number("FAKE_NVML", 0); }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *s, unsigned n) { strncpy(s, "580.65.06", n); return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = number("FAKE_NVML_COUNT", number("FAKE_COUNT", 0)); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { *h = (void *)(long)(i + 1); return number("FAKE_NVML_DEVICE", 0); }
int nvmlDeviceGetName(void *h, char *s, unsigned n) { strncpy(s, "Fake GPU", n); return 0; }
int nvmlDeviceGetComputeMode(void *h, unsigned *m) { *m = number("FAKE_MODE", 0); return 0; }
int nvmlDeviceGetMigMode(void *h, unsigned *c, unsigned *p) { *c = *p = number("FAKE_MIG", 0); return 0; }
int nvmlDeviceGetMaxMigDeviceCount(void *h, unsigned *n) { *n = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *h, unsigned i, void **m) { return i < number("FAKE_PARTS", 0) ? 0 : 6; }
int nvmlDeviceGetMemoryInfo(void *h, unsigned long long *m) { m[0] = 24ULL << 30; m[2] = 1ULL << 30; return 0; }
int nvmlDeviceGetUtilizationRates(void *h, unsigned *u) { u[0] = number("FAKE_BUSY", 0); u[1] = 0; return 0; }
int nvmlDeviceGetTemperature(void *h, int s, unsigned *t) { *t = 50; return 0; }
int nvmlDeviceGetCurrentClocksEventReasons(void *h, unsigned long long *r) { *r = number("FAKE_THROTTLE", 0); return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *h, unsigned *n, void *p) { *n = number("FAKE_PROCESSES", 0); return 0; }
int nvmlDeviceGetVirtualizationMode(void *h, unsigned *m) { *m = number("FAKE_VGPU", 0); return 0; }
int nvmlDeviceGetGridLicensableFeatures_v4(void *h, unsigned *f) {
    f[0] = f[1] = number("FAKE_VGPU", 0) == 2;
    f[2] = 3; f[3] = number("FAKE_LICENSED", 0);
    return 0;
}
int nvmlDeviceGetGpuFabricInfo(void *h, unsigned char *f) { f[24] = number("FAKE_FABRIC", 0); return 0; }
int nvmlSystemGetConfComputeState(unsigned *s) { s[1] = number("FAKE_CONFIDENTIAL", 0); return s[1] ? 0 : 3; }
int nvmlSystemGetConfComputeGpusReadyState(unsigned *r) { *r = number("FAKE_READY", 0); return 0; }
