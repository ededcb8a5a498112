// tensor/hardware.h — devices by name, present or not, so that selection and bounds can be asked for any of them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tensor/device_info.h"

namespace octet {

/// The device that `--hardware NAME` means: one of hardware_names(), or "this" for this machine's processor.
/// Throws  Error(bad_usage) with the list of names
/// Source  docs/backends.md says which figures are measured and which are the maker's.
DeviceInfo find_hardware(std::string_view name);

/// Every name but "this", GPUs first.
std::span<const std::string_view> hardware_names();

/// For people: "h200, sm_90", or a processor's name with its widest instruction set.
std::string describe(const DeviceInfo& device);

}  // namespace octet
