#include "access/approval/approval_store.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace weft::access {
namespace {

bool is_expired(const Approval& approval, std::int64_t now_ms) {
  // Nor one from the future: the clock was set back, and it could live longer than it should.
  return now_ms >= approval.expires_ms || now_ms < approval.created_ms;
}

bool is_same_person(const ApprovalPerson& a, const ApprovalPerson& b) {
  const auto names_of = [](const ApprovalPerson& person) {
    std::vector<std::string_view> names = split(person.token_creator, ',');
    names.emplace_back(person.identity.user);
    std::erase(names, std::string_view());
    return names;
  };
  const auto has_any = [](const auto& list, const std::vector<std::string_view>& names) {
    return std::any_of(list.begin(), list.end(), [&](std::string_view each) {
      return std::find(names.begin(), names.end(), each) != names.end();
    });
  };
  const std::vector<std::string_view> one = names_of(a);
  const std::vector<std::string_view> other = names_of(b);
  return has_any(one, other) || has_any(a.accounts, other) || has_any(b.accounts, one);
}

Error no_approval() { return {ErrorCode::not_found, "there is no such pending approval", {}}; }

}  // namespace

Result<Approval> ApprovalStore::add(Approval request, std::int64_t now_ms) {
  // Expired ones stay for take_expired(): who keeps something for each approval has to hear of its end.
  if (pending_.size() >= kMaxApprovals) return Error{ErrorCode::unavailable, "too many requests wait for approval", {}};
  const auto own = std::count_if(pending_.begin(), pending_.end(), [&](const auto& entry) {
    return entry.second.requester.identity.user == request.requester.identity.user && !is_expired(entry.second, now_ms);
  });
  if (static_cast<std::size_t>(own) >= kMaxApprovalsPerUser)
    return Error{ErrorCode::conflict, "too many of your requests wait for approval", {}};
  if (request.path.size() + request.body.size() + request.reason.size() > kMaxApprovalBytes)
    return Error{ErrorCode::invalid_input, "the request is too large to wait for approval", {}};
  do {
    request.id = make_id(random_);
  } while (pending_.contains(request.id));
  request.created_ms = now_ms;
  request.expires_ms = now_ms + kApprovalLifeMs;
  pending_.emplace(request.id, request);
  return request;
}

std::map<std::string, Approval, std::less<>>::iterator ApprovalStore::find_live(std::string_view id,
                                                                                std::int64_t now_ms) {
  const auto found = pending_.find(id);
  return found != pending_.end() && is_expired(found->second, now_ms) ? pending_.end() : found;
}

Result<Approval> ApprovalStore::approve(std::string_view id, const ApprovalPerson& by, std::int64_t now_ms) {
  const auto found = find_live(id, now_ms);
  if (found == pending_.end()) return no_approval();
  if (by.identity.user.empty() || is_same_person(found->second.requester, by))
    return Error{ErrorCode::refused, "another person than the requester must approve it", {}};
  Approval approval = std::move(found->second);
  pending_.erase(found);
  return approval;
}

Result<Approval> ApprovalStore::reject(std::string_view id, std::int64_t now_ms) {
  const auto found = find_live(id, now_ms);
  if (found == pending_.end()) return no_approval();
  Approval approval = std::move(found->second);
  pending_.erase(found);
  return approval;
}

const Approval* ApprovalStore::find(std::string_view id, std::int64_t now_ms) const {
  const auto found = pending_.find(id);
  return found == pending_.end() || is_expired(found->second, now_ms) ? nullptr : &found->second;
}

std::vector<Approval> ApprovalStore::list(std::int64_t now_ms) const {
  std::vector<Approval> listed;
  for (const auto& [id, approval] : pending_) {
    if (!is_expired(approval, now_ms)) listed.push_back(approval);
  }
  std::sort(listed.begin(), listed.end(), [](const Approval& a, const Approval& b) {
    return std::tie(a.created_ms, a.id) < std::tie(b.created_ms, b.id);
  });
  return listed;
}

std::vector<Approval> ApprovalStore::take_expired(std::int64_t now_ms) {
  std::vector<Approval> expired;
  for (auto entry = pending_.begin(); entry != pending_.end();) {
    if (is_expired(entry->second, now_ms)) {
      expired.push_back(std::move(entry->second));
      entry = pending_.erase(entry);
    } else {
      ++entry;
    }
  }
  return expired;
}

}  // namespace weft::access
