#include "explore/question.h"

namespace weft::explore {

// Llama 2 (Touvron et al., 2023) trained its models up to 70 billion parameters with 4M tokens per step; Llama 3's
// 405 billion ran with 16M tokens for most of its training (Grattafiori et al., 2024, section 3.4.1).
std::int64_t usual_batch(double parameters) { return parameters < 100e9 ? 4'194'304 : 16'777'216; }

}  // namespace weft::explore
