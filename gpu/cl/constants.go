package cl

// What OpenCL calls by number, from the Khronos header cl.h of OpenCL 1.2 and,
// where marked, from vendors' cl_ext.h.
const (
	platformVersion = 0x0901
	platformName    = 0x0902
	platformVendor  = 0x0903

	deviceType               = 0x1000
	deviceMaxComputeUnits    = 0x1002
	deviceMaxWorkGroupSize   = 0x1004
	deviceMaxWorkItemSizes   = 0x1005
	deviceMaxMemAllocSize    = 0x1010
	deviceSingleFPConfig     = 0x101B
	deviceGlobalMemSize      = 0x101F
	deviceLocalMemSize       = 0x1023
	deviceAvailable          = 0x1027
	deviceCompilerAvailable  = 0x1028
	deviceName               = 0x102B
	deviceVendor             = 0x102C
	deviceDriverVersion      = 0x102D
	deviceVersion            = 0x102F
	deviceExtensions         = 0x1030
	deviceDoubleFPConfig     = 0x1032
	deviceHostUnifiedMemory  = 0x1035
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

	programBuildLog = 0x1183

	kernelNumArgs                   = 0x1191
	kernelWorkGroupSize             = 0x11B0
	kernelPreferredWorkGroupSizeMul = 0x11B3

	eventExecutionStatus = 0x11D3

	mapRead  = 1 << 0
	mapWrite = 1 << 1
)
