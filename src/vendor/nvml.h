/* The part of NVML's C API we call, declared from its public reference manual (libnvidia-ml.so.1).
 */
#ifndef ASSAY_VENDOR_NVML_H
#define ASSAY_VENDOR_NVML_H

typedef int assay_nvml_ret; /* 0 is success */
typedef struct assay_nvml_handle *assay_nvml_device;

enum { ASSAY_NVML_TEXT = 96 };

typedef struct assay_nvml_pci {
	char bus_legacy[16];
	unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
	char bus_id[32];
} assay_nvml_pci;

typedef struct assay_nvml_memory {
	unsigned long long total, free, used;
} assay_nvml_memory;

typedef struct assay_nvml {
	assay_nvml_ret (*init)(void);
	assay_nvml_ret (*shutdown)(void);
	assay_nvml_ret (*driver_version)(char *, unsigned);
	assay_nvml_ret (*nvml_version)(char *, unsigned);
	assay_nvml_ret (*cuda_version)(int *);
	assay_nvml_ret (*count)(unsigned *);
	assay_nvml_ret (*by_index)(unsigned, assay_nvml_device *);
	assay_nvml_ret (*name)(assay_nvml_device, char *, unsigned);
	assay_nvml_ret (*uuid)(assay_nvml_device, char *, unsigned);
	assay_nvml_ret (*serial)(assay_nvml_device, char *, unsigned);
	assay_nvml_ret (*vbios)(assay_nvml_device, char *, unsigned);
	assay_nvml_ret (*compute_capability)(assay_nvml_device, int *, int *);
	assay_nvml_ret (*mig)(assay_nvml_device, unsigned *, unsigned *);
	assay_nvml_ret (*ecc)(assay_nvml_device, int *, int *);
	assay_nvml_ret (*persistence)(assay_nvml_device, int *);
	assay_nvml_ret (*compute_mode)(assay_nvml_device, int *);
	assay_nvml_ret (*memory)(assay_nvml_device, assay_nvml_memory *);
	assay_nvml_ret (*power_limit)(assay_nvml_device, unsigned *);
	assay_nvml_ret (*pci)(assay_nvml_device, assay_nvml_pci *);
	assay_nvml_ret (*link_width)(assay_nvml_device, unsigned *);
} assay_nvml;

#endif
