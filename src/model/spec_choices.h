// The enumerations of a cluster file, with the tables that read and write them.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace weft::model {

enum class Profile { split, converged };
enum class PoolRole { training, inference, infrastructure, cpu, storage, login, management, jump };
enum class Wiring { rail_optimized, rail_only, tor, dual_tor, pairs };
enum class TierChoice { automatic, one, two, three };
enum class SwitchPlacement { central, row };
enum class LinkAddressing { unnumbered, numbered };
enum class StorageKind { nvmeof, lustre, gpfs, beegfs, weka, vast, nfs, object };
enum class StorageTier { hot, warm, cold };
enum class Multipath { active_standby, round_robin, queue_depth };
enum class VolumePurpose { dataset, checkpoint, scratch, home };
enum class StorageSecurity { sys, krb5p, tls };
enum class ControlKind { kubernetes, slurm, both };
enum class Allocator { kubernetes, slurm, weft };
enum class DataClass { good, better, best };
enum class ChecklistState { done, not_done };
enum class TrustMode { dscp, pcp };
enum class PfcMode { on, automatic, off };
enum class WatchdogAction { drop, forward, alert };
enum class LoadBalancing { ecmp, adaptive, spray };
enum class Whereabouts { none, oob, frontend, site };
enum class OobEntry { vpn, cellular, console, frontend };
enum class Handling { automatic, manual };
enum class SignOn { oidc, directory, none };
enum class SecretStore { vault, kubernetes, files };
enum class PolicyDefault { deny, allow };
enum class RestAuth { jwt, none };
enum class Balancing { least_connections, round_robin };
enum class Probe { http, tcp, none };

const std::vector<std::pair<std::string_view, Profile>>& choices_of(Profile);
const std::vector<std::pair<std::string_view, PoolRole>>& choices_of(PoolRole);
const std::vector<std::pair<std::string_view, Wiring>>& choices_of(Wiring);
const std::vector<std::pair<std::string_view, TierChoice>>& choices_of(TierChoice);
const std::vector<std::pair<std::string_view, SwitchPlacement>>& choices_of(SwitchPlacement);
const std::vector<std::pair<std::string_view, LinkAddressing>>& choices_of(LinkAddressing);
const std::vector<std::pair<std::string_view, StorageKind>>& choices_of(StorageKind);
const std::vector<std::pair<std::string_view, StorageTier>>& choices_of(StorageTier);
const std::vector<std::pair<std::string_view, Multipath>>& choices_of(Multipath);
const std::vector<std::pair<std::string_view, VolumePurpose>>& choices_of(VolumePurpose);
const std::vector<std::pair<std::string_view, StorageSecurity>>& choices_of(StorageSecurity);
const std::vector<std::pair<std::string_view, ControlKind>>& choices_of(ControlKind);
const std::vector<std::pair<std::string_view, Allocator>>& choices_of(Allocator);
const std::vector<std::pair<std::string_view, DataClass>>& choices_of(DataClass);
const std::vector<std::pair<std::string_view, ChecklistState>>& choices_of(ChecklistState);
const std::vector<std::pair<std::string_view, TrustMode>>& choices_of(TrustMode);
const std::vector<std::pair<std::string_view, PfcMode>>& choices_of(PfcMode);
const std::vector<std::pair<std::string_view, WatchdogAction>>& choices_of(WatchdogAction);
const std::vector<std::pair<std::string_view, LoadBalancing>>& choices_of(LoadBalancing);
const std::vector<std::pair<std::string_view, Whereabouts>>& choices_of(Whereabouts);
const std::vector<std::pair<std::string_view, OobEntry>>& choices_of(OobEntry);
const std::vector<std::pair<std::string_view, Handling>>& choices_of(Handling);
const std::vector<std::pair<std::string_view, SignOn>>& choices_of(SignOn);
const std::vector<std::pair<std::string_view, SecretStore>>& choices_of(SecretStore);
const std::vector<std::pair<std::string_view, PolicyDefault>>& choices_of(PolicyDefault);
const std::vector<std::pair<std::string_view, RestAuth>>& choices_of(RestAuth);
const std::vector<std::pair<std::string_view, Balancing>>& choices_of(Balancing);
const std::vector<std::pair<std::string_view, Probe>>& choices_of(Probe);

}  // namespace weft::model
