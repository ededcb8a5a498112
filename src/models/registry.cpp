// Every model family there is. One line adds one.

#include <array>
#include <sstream>

#include "models/config_reader.h"
#include "models/glm_moe_dsa/model.h"
#include "models/model.h"
#include "models/qwen3_moe/model.h"

namespace octet {
namespace {

struct Family {
  std::string_view architecture;  // config.json: architectures[0]
  std::string_view model_type;    // used where architectures is missing
  std::unique_ptr<Model> (*load)(const Checkpoint&, const ModelOptions&, ThreadPool&, LoadNotes*);
};

constexpr std::array kFamilies = {
    Family{"GlmMoeDsaForCausalLM", "glm_moe_dsa", glm_moe_dsa::load},
    Family{"Qwen3MoeForCausalLM", "qwen3_moe", qwen3_moe::load},
};

}  // namespace

std::unique_ptr<Model> load_model(const Checkpoint& checkpoint, const ModelOptions& options, ThreadPool& threads,
                                  LoadNotes* notes) {
  const ConfigReader config(checkpoint.config(), checkpoint.folder() + "/config.json");
  const std::vector<std::string> architectures = config.texts("architectures");
  const std::string architecture = architectures.empty() ? "" : architectures.front();
  const std::string model_type = config.text("model_type", "");
  std::ostringstream known;
  for (const Family& family : kFamilies) {
    const bool match = architecture.empty() ? family.model_type == model_type : family.architecture == architecture;
    if (match) return family.load(checkpoint, options, threads, notes);
    known << (known.tellp() > 0 ? ", " : "") << family.architecture;
  }
  fail(ErrorCode::unsupported, config.where(), ": architectures: octet has ", known.str(), ", got \"",
       architecture.empty() ? model_type : architecture, "\"");
}

}  // namespace octet
