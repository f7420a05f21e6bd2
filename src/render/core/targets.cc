// The table of renderers.
#include "render/core/targets.h"

#include <array>

namespace weft::render {
namespace {

const std::array<RenderTarget, 24> kTargets = {{
    {"sonic", "config_db.json of each SONiC switch", "SONiC", applies_sonic, render_sonic},
    {"nvue", "NVUE commands of each Cumulus Linux switch", "Cumulus Linux", applies_nvue, render_nvue},
    {"nxos", "configuration of each NX-OS switch", "NX-OS", applies_nxos, render_nxos},
    {"eos", "configuration of each EOS switch", "EOS", applies_eos, render_eos},
    {"frr", "the leaf-spine underlay as FRR configuration, for a lab", "FRR", applies_frr, render_frr},
    {"infiniband", "OpenSM configuration, partitions, root GUIDs, and a netlist for ibsim", "OpenSM",
     applies_infiniband, render_infiniband},
    {"kubernetes/network", "secondary networks of pods: attachments, SR-IOV, NIC settings, address pools",
     "Multus, SR-IOV Network Operator", applies_kube_network, render_kube_network},
    {"kubernetes/gpu", "GPU Operator, Node Feature Discovery, MIG and time-slicing, DCGM", "GPU Operator",
     applies_kube_gpu, render_kube_gpu},
    {"kubernetes/storage", "storage classes and volume claims", "CSI drivers", applies_kube_storage,
     render_kube_storage},
    {"kubernetes/frontend", "BGP to the leaves, service addresses, gateways and routes", "Cilium, Gateway API",
     applies_kube_frontend, render_kube_frontend},
    {"kubernetes/scheduling", "labels, taints, priorities, quotas, limits, Kueue queues", "Kubernetes",
     applies_kube_scheduling, render_kube_scheduling},
    {"kubernetes/inference", "inference services with probes, budgets and autoscaling", "Kubernetes",
     applies_kube_inference, render_kube_inference},
    {"kubernetes/policy", "network policies, signed images", "Cilium, Kyverno", applies_kube_policy,
     render_kube_policy},
    {"kubernetes/training", "job files as PyTorchJob, TrainJob or Indexed Job", "Kubeflow, Kubernetes",
     applies_kube_training, render_kube_training},
    {"kubernetes/serve", "weft serve in the cluster: role, network policy, Deployment", "Kubernetes",
     applies_kube_serve, render_kube_serve},
    {"slurm", "slurm.conf, gres.conf, topology.conf, cgroup.conf, prolog, epilog, QoS, batch scripts", "Slurm",
     applies_slurm, render_slurm},
    {"host", "sysctl, netplan, udev, multipath and BIOS policy of each server pool", "Linux", applies_host,
     render_host},
    {"ansible", "inventory, playbooks and day-2 runbooks", "Ansible", applies_ansible, render_ansible},
    {"terraform", "server profiles and Helm releases, in JSON syntax", "Terraform", applies_terraform,
     render_terraform},
    {"prometheus", "scrape configuration, alert and recording rules", "Prometheus", applies_prometheus,
     render_prometheus},
    {"alertmanager", "routes and receivers", "Alertmanager", applies_alertmanager, render_alertmanager},
    {"grafana", "dashboards", "Grafana", applies_grafana, render_grafana},
    {"haproxy", "load balancing of inference services outside Kubernetes", "HAProxy", applies_haproxy, render_haproxy},
    {"acceptance", "acceptance tests: fio, ib_write_bw, nccl-tests, ping matrix", "operators", applies_acceptance,
     render_acceptance},
}};

}  // namespace

std::span<const RenderTarget> all_targets() { return kTargets; }

}  // namespace weft::render
