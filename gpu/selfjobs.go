package gpu

import "psafe/host/bound"

// jobsExpected holds the digests that bound.SelfCheck gives on the fallback.
// TestSelfTestJobs prints the table when it is no longer right.
var jobsExpected = map[bound.Precision]map[string]uint64{
	bound.Float32: {
		"one box by ibp":      0x4311a105fc65b2c4,
		"one box by lbp":      0x476efdf2564ececd,
		"pairs by ibp":        0x157d3db4cd69130a,
		"pairs by lbp":        0x26ee59e2218cc954,
		"deep by ibp":         0xafcda441aadb3d30,
		"deep by lbp":         0x62d1f723124bae79,
		"deep, shared by ibp": 0xa788552fa7cc0e3,
		"deep, shared by lbp": 0xfff74a02c7ccd51f,
		"tanh by ibp":         0x4e25ce79bb00f956,
		"tanh by lbp":         0x72a965bd96683291,
		"tanh, shared by ibp": 0x47a63d952d5d600,
		"tanh, shared by lbp": 0x9db4ed575a67d17b,
		"leaky relu by ibp":   0xb1f4ee9ad8352205,
		"leaky relu by lbp":   0x8ea1271f7a2cea32,
		"sigmoid by ibp":      0x944b344034e9439d,
		"sigmoid by lbp":      0x9f5f33ce54bed55a,
		"overflow by ibp":     0xe537d51c45c25075,
		"overflow by lbp":     0xe569d06e11e60152,
	},
	bound.Float64: {
		"one box by ibp":      0x2601b6b33e677864,
		"one box by lbp":      0xfe672bd507eecd0,
		"pairs by ibp":        0x9fccb7f2d342f396,
		"pairs by lbp":        0x165fa23eeb6379c5,
		"deep by ibp":         0xbe4510d70874d29b,
		"deep by lbp":         0xb7b6b5e9cd64b63,
		"deep, shared by ibp": 0xfdebb64689cf9bfc,
		"deep, shared by lbp": 0xa3964366eb26302e,
		"tanh by ibp":         0x62fdb0dc4e6eff50,
		"tanh by lbp":         0xc0d5b218eec907cf,
		"tanh, shared by ibp": 0xd7ff6c1a2d9b0c48,
		"tanh, shared by lbp": 0x437dabfe2d7c3423,
		"leaky relu by ibp":   0x3cc9e1c7c872044c,
		"leaky relu by lbp":   0xab694dde6e1ee48f,
		"sigmoid by ibp":      0x46478ec4a73258e4,
		"sigmoid by lbp":      0xef0a5c7762cf5a72,
		"overflow by ibp":     0x53868d0be4320152,
		"overflow by lbp":     0x4bf7790c2e88e1c5,
	},
}
