package cl

// What OpenCL calls by number, from the Khronos header cl.h of OpenCL 1.2 and,
// where marked, from vendors' cl_ext.h.
const (
	platformVersion = 0x0901
	platformName    = 0x0902

	deviceType               = 0x1000
	deviceMaxComputeUnits    = 0x1002
	deviceMaxMemAllocSize    = 0x1010
	deviceGlobalMemSize      = 0x101F
	deviceLocalMemSize       = 0x1023
	deviceName               = 0x102B
	deviceVendor             = 0x102C
	deviceDriverVersion      = 0x102D
	deviceVersion            = 0x102F
	deviceExtensions         = 0x1030
	deviceDoubleFPConfig     = 0x1032
	deviceNativeVectorFloat  = 0x103A
	deviceNativeVectorDouble = 0x103B
	deviceOpenCLCVersion     = 0x103D

	deviceUUID        = 0x106A // cl_khr_device_uuid
	devicePCIBusInfo  = 0x410F // cl_khr_pci_bus_info
	devicePCIBusNV    = 0x4008 // cl_nv_device_attribute_query
	devicePCISlotNV   = 0x4009
	devicePCIDomainNV = 0x400A
	deviceTopologyAMD = 0x4037 // cl_amd_device_attribute_query

	contextPlatform = 0x1084

	programBinarySizes = 0x1165
	programBinaries    = 0x1166
	programBuildLog    = 0x1183

	kernelWorkGroupSize = 0x11B0
)
