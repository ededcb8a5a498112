#include "dist/comm.h"

namespace octet {
namespace {

class SingleComm final : public Comm {
 public:
  RankLayout layout() const override { return {}; }
  void all_reduce_sum(std::span<float>) override {}
  void broadcast(std::span<std::byte>) override {}
};

}  // namespace

std::unique_ptr<Comm> make_single_comm() { return std::make_unique<SingleComm>(); }

}  // namespace octet
