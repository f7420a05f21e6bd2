#include <gtest/gtest.h>

#include <string>

#include "config/config_set.h"
#include "config/kube_objects.h"

namespace weft::config {
namespace {

struct Read {
  Sources sources;
  ConfigSet set;
  Diagnostics diagnostics;
};

Read read(std::string text) {
  Read out;
  read_config_text("x.yaml", std::move(text), out.sources, out.set, out.diagnostics);
  return out;
}

std::string findings(const Read& read) {
  std::string text;
  for (const Diagnostic& d : read.diagnostics.sorted()) {
    text += std::to_string(d.place.line) + ":" + std::to_string(d.place.column) + " " + d.message + "\n";
  }
  return text;
}

TEST(Kube, FlattensStreamsAndLists) {
  const Read r = read(
      "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: "
      "n}}\n"
      "- {apiVersion: v1, kind: Service, metadata: {generateName: b-}}\n---\n"
      "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: c}\n---\njust: text\n");
  ASSERT_EQ(r.set.objects.size(), 3U);
  EXPECT_EQ(r.set.objects[0].api_group, "apps");
  EXPECT_EQ(r.set.objects[0].api_version, "v1");
  EXPECT_EQ(r.set.objects[0].space, "n");
  EXPECT_EQ(r.set.objects[1].api_group, "");
  EXPECT_EQ(r.set.objects[1].name, "b-");
  EXPECT_EQ(r.set.objects[2].kind, "PriorityClass");
  EXPECT_EQ(text_of(r.set.objects[2].at("metadata.name")), "c");
  EXPECT_EQ(r.set.objects[2].at("metadata.labels.x"), nullptr);
  EXPECT_EQ(findings(r), "11:1 not a Kubernetes object: `apiVersion` or `kind` is missing\n");
}

TEST(Kube, SkipsTemplatesWithANote) {
  const Read helm = read("apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name }}-a\n");
  EXPECT_EQ(findings(helm), "4:9 ignored: this is a template, not a Kubernetes object\n");
  EXPECT_FALSE(helm.diagnostics.has_errors());
  EXPECT_TRUE(helm.set.objects.empty());
  const Read jinja = read("{% for n in nodes %}\napiVersion: v1\nkind: Pod\n{% endfor %}\n");
  EXPECT_EQ(findings(jinja), "1:1 ignored: this is a template, not a Kubernetes object\n");
  const Read quoted = read("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {rule: \"{{ $labels.a }}\"}\n");
  EXPECT_EQ(findings(quoted), "");
  EXPECT_EQ(quoted.set.objects.size(), 1U);
}

TEST(Kube, HostSharedMemoryAndLauncherVariablesAreRecognized) {
  const auto job = [](const std::string& kind, const std::string& volume) {
    return read("apiVersion: kubeflow.org/v1\nkind: " + kind + "\nmetadata: {name: j}\nspec:\n  " +
                (kind == "MPIJob" ? "mpiReplicaSpecs" : "pytorchReplicaSpecs") +
                ":\n    Worker:\n      template:\n        spec:\n          containers:\n"
                "          - {name: c, image: i, volumeMounts: [{name: s, mountPath: /dev/shm}]}\n"
                "          volumes:\n          - {name: s, " +
                volume + "}\n");
  };
  const Read host = job("MPIJob", "hostPath: {path: /dev/shm}");
  ASSERT_EQ(host.set.apps.size(), 1U);
  EXPECT_TRUE(host.set.apps[0].shared_memory.known());
  EXPECT_TRUE(host.set.apps[0].more_environment);
  const Read claim = job("PyTorchJob", "persistentVolumeClaim: {claimName: a}");
  ASSERT_EQ(claim.set.apps.size(), 1U);
  EXPECT_FALSE(claim.set.apps[0].shared_memory.known());
  EXPECT_FALSE(claim.set.apps[0].more_environment);
}

TEST(Kube, ReadsJson) {
  const Read r = read(
      "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n"
      "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"p\"},"
      " \"spec\": {\"containers\": [{\"name\": \"c\", \"image\": \"i\"}]}}]}\n");
  ASSERT_EQ(r.set.apps.size(), 1U);
  EXPECT_EQ(r.set.apps[0].name, "p");
  EXPECT_EQ(r.set.objects[0].place.line, 2U);
  EXPECT_EQ(findings(r), "");
}

constexpr const char* kPod = R"(apiVersion: v1
kind: Pod
metadata:
  name: worker
  namespace: ai
  labels: {app: train}
  annotations:
    sidecar.istio.io/inject: "false"
    k8s.v1.cni.cncf.io/networks: |
      [{"name": "rail-a", "namespace": "ai", "interface": "net1"},
       {"name": "rail-b"}]
spec:
  priorityClassName: high
  hostNetwork: true
  nodeSelector: {gpu: h100}
  tolerations:
    - {key: nvidia.com/gpu, operator: Equal, value: training, effect: NoSchedule}
    - {operator: Exists}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
          - matchExpressions:
              - {key: kubernetes.io/hostname, operator: In, values: [n1, n2]}
  initContainers:
    - name: stage
      image: stage:1
      env: [{name: STAGE, value: "1"}]
    - {name: logs, image: logs:1, restartPolicy: Always}
  containers:
    - name: trainer
      image: train:2
      command: [torchrun, --nproc_per_node=8]
      args: [train.py]
      env:
        - {name: NCCL_IB_HCA, value: "mlx5_0,mlx5_1"}
        - {name: NCCL_IB_HCA, value: mlx5_2}
        - name: SECRET
          valueFrom: {secretKeyRef: {name: s, key: k}}
      securityContext: {privileged: true}
      resources:
        limits: {nvidia.com/gpu: 8, rdma/a: 1}
        requests: {cpu: "64"}
      readinessProbe: {tcpSocket: {port: 80}}
      volumeMounts:
        - {name: data, mountPath: /data}
        - {name: ckpt, mountPath: /ckpt, readOnly: false}
        - {name: shm, mountPath: /dev/shm}
  volumes:
    - name: data
      persistentVolumeClaim: {claimName: datasets, readOnly: true}
    - name: ckpt
      persistentVolumeClaim: {claimName: checkpoints}
    - name: shm
      emptyDir: {medium: Memory, sizeLimit: 64Gi}
)";

TEST(Kube, ReadsACompletePod) {
  const Read r = read(kPod);
  EXPECT_EQ(findings(r), "");
  ASSERT_EQ(r.set.apps.size(), 1U);
  const AppConfig& app = r.set.apps[0];
  EXPECT_EQ(app.kind, "Pod");
  EXPECT_EQ(app.space, "ai");
  ASSERT_EQ(app.networks.size(), 2U);
  EXPECT_EQ(app.networks[0].interface, "net1");
  EXPECT_EQ(app.networks[1].name, "rail-b");
  EXPECT_EQ(app.networks[1].place.line, 11U);
  EXPECT_EQ(**app.variable("NCCL_IB_HCA"), "mlx5_2");
  EXPECT_EQ(**app.variable("STAGE"), "1");
  ASSERT_NE(app.variable("SECRET"), nullptr);
  EXPECT_FALSE(app.variable("SECRET")->known());
  EXPECT_EQ(app.variable("ABSENT"), nullptr);
  EXPECT_EQ(**app.limit("nvidia.com/gpu"), "8");
  EXPECT_EQ(app.limit("cpu"), nullptr);
  ASSERT_EQ(app.requests.size(), 1U);
  EXPECT_EQ(app.containers, (std::vector<std::string>{"logs", "trainer"}));
  EXPECT_EQ(app.images.size(), 3U);
  EXPECT_TRUE(*app.host_network);
  EXPECT_TRUE(*app.privileged);
  EXPECT_EQ(*app.priority_class, "high");
  EXPECT_EQ(*app.shared_memory, "64Gi");
  EXPECT_EQ(*app.readiness, "tcpSocket");
  EXPECT_FALSE(app.liveness.known());
  ASSERT_EQ(app.mounts.size(), 3U);
  EXPECT_EQ(app.mounts[0].claim, "datasets");
  EXPECT_TRUE(*app.mounts[0].read_only);
  EXPECT_FALSE(*app.mounts[1].read_only);
  ASSERT_EQ(app.constraints.size(), 2U);
  EXPECT_EQ(*app.constraints[0], "gpu=h100");
  EXPECT_EQ(*app.constraints[1], "kubernetes.io/hostname In n1,n2");
  ASSERT_EQ(app.tolerations.size(), 2U);
  EXPECT_EQ(*app.tolerations[0], "nvidia.com/gpu=training:NoSchedule");
  EXPECT_EQ(*app.tolerations[1], "*");
  EXPECT_EQ(*app.commands.at(0), "torchrun --nproc_per_node=8 train.py");
  EXPECT_EQ(app.labels.at(0).name, "app");
}

TEST(Kube, ReadsTheCommaFormOfNetworks) {
  const Read r = read(
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations:\n"
      "    k8s.v1.cni.cncf.io/networks: ai/rail-a@net1, rail-b ,\nspec: {containers: []}\n");
  const auto& networks = r.set.apps.at(0).networks;
  ASSERT_EQ(networks.size(), 2U);
  EXPECT_EQ(networks[0].name, "rail-a");
  EXPECT_EQ(networks[0].interface, "net1");
  EXPECT_EQ(networks[1].name, "rail-b");
  EXPECT_EQ(networks[1].interface, "");
}

TEST(Kube, FindsTheTemplatesOfEveryWorkload) {
  const std::string pod = "{spec: {containers: [{name: c, env: [{name: A, value: b}]}]}}";
  const auto app = [&](const std::string& api, const std::string& kind, const std::string& spec) {
    const Read r = read("apiVersion: " + api + "\nkind: " + kind + "\nmetadata: {name: x}\nspec: " + spec + "\n");
    EXPECT_EQ(findings(r), "") << kind;
    EXPECT_FALSE(r.set.apps.empty()) << kind;
    std::string out;
    for (const AppConfig& one : r.set.apps) {
      out +=
          one.role + ":" + std::to_string(*one.replicas) + ":" + (one.variable("A") ? **one.variable("A") : "") + " ";
    }
    return out;
  };
  for (const char* kind : {"Deployment", "StatefulSet", "DaemonSet"}) {
    EXPECT_EQ(app("apps/v1", kind, "{replicas: 3, template: " + pod + "}"), ":3:b ");
  }
  EXPECT_EQ(app("batch/v1", "Job", "{parallelism: 4, completionMode: Indexed, template: " + pod + "}"), ":4:b ");
  EXPECT_EQ(app("batch/v1", "CronJob", "{jobTemplate: {spec: {parallelism: 2, template: " + pod + "}}}"), ":2:b ");
  EXPECT_EQ(app("kubeflow.org/v1", "PyTorchJob",
                "{pytorchReplicaSpecs: {Master: {replicas: 1, template: " + pod +
                    "}, Worker: {replicas: 7, template: " + pod + "}}}"),
            "Master:1:b Worker:7:b ");
  EXPECT_EQ(
      app("kubeflow.org/v2beta1", "MPIJob", "{mpiReplicaSpecs: {Launcher: {replicas: 1, template: " + pod + "}}}"),
      "Launcher:1:b ");
  EXPECT_EQ(
      app("jobset.x-k8s.io/v1alpha2", "JobSet",
          "{replicatedJobs: [{name: w, replicas: 2, template: {spec: {parallelism: 8, template: " + pod + "}}}]}"),
      "w:8:b ");
  EXPECT_EQ(app("trainer.kubeflow.org/v1alpha1", "TrainJob",
                "{runtimeRef: {name: torch}, trainer: {numNodes: 16, env: [{name: A, value: b}]}}"),
            ":16:b ");
}

constexpr const char* kDefinition = R"(apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  name: rail-a
  namespace: ai
  annotations: {k8s.v1.cni.cncf.io/resourceName: nvidia.com/rail_a}
spec:
  config: |
    {
      "cniVersion": "1.0.0",
      "plugins": [
        {"type": "sriov", "vlan": 600,
         "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.60.0.0/27", "gateway": "10.60.0.1"}]],
                  "routes": [{"dst": "10.60.0.0/16", "gw": "10.60.0.1"}, {"dst": "0.0.0.0/0"}]}},
        {"type": "tuning", "mtu": 9000},
        {"type": "rdma"}
      ]
    }
)";

TEST(Kube, ReadsAttachmentsWithTheirChainsAndLines) {
  const Read r = read(kDefinition);
  EXPECT_EQ(findings(r), "");
  ASSERT_EQ(r.set.attachments.size(), 1U);
  const AttachmentConfig& a = r.set.attachments[0];
  EXPECT_EQ(*a.plugin, "sriov");
  EXPECT_EQ(*a.resource, "nvidia.com/rail_a");
  EXPECT_EQ(*a.mtu, 9000);
  EXPECT_EQ(a.mtu.place, (SourceLocation{a.place.file, 35, 15}));  // the number itself
  EXPECT_EQ(*a.vlan, 600);
  EXPECT_EQ(*a.ipam, "host-local");
  ASSERT_EQ(a.subnets.size(), 1U);
  EXPECT_EQ(to_text(*a.subnets[0]), "10.60.0.0/27");
  EXPECT_EQ(*a.gateway, "10.60.0.1");
  ASSERT_EQ(a.routes.size(), 2U);
  EXPECT_EQ(to_text(a.routes[0].destination), "10.60.0.0/16");
  EXPECT_EQ(to_text(a.routes[0].gateway), "10.60.0.1");
  EXPECT_EQ(a.routes[1].destination.length, 0);
  EXPECT_EQ(a.routes[1].place.line, 14U);
}

TEST(Kube, ReportsBadJsonAtItsLine) {
  const Read r = read(
      "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {name: a}\nspec:\n  config: |\n"
      "    {\n      \"type\": \"sriov\",\n      \"mtu\": [[ \"subnet\": 1 ]]\n    }\n");
  EXPECT_TRUE(r.diagnostics.has_errors());
  EXPECT_EQ(findings(r).substr(0, 2), "8:") << findings(r);
  const Read inline_text = read(
      "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {name: a}\nspec: {config: '{\"a\" "
      "1}'}\n");
  EXPECT_EQ(findings(inline_text).substr(0, 5), "4:16 ");
}

TEST(Kube, ReadsTheOperatorsNetworks) {
  const Read r = read(R"(apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetwork
metadata: {name: a, namespace: op}
spec:
  resourceName: rail_a
  networkNamespace: ai
  vlan: 600
  ipam: '{"type": "whereabouts", "range": "192.168.2.225/28", "gateway": "192.168.2.225"}'
  metaPlugins: '{"type": "tuning", "mtu": 9000}, {"type": "rdma"}'
---
apiVersion: mellanox.com/v1alpha1
kind: MacvlanNetwork
metadata: {name: b}
spec: {networkNamespace: default, master: ens1, mtu: 1500, ipam: '{"type": "nv-ipam", "poolName": "p", "poolType": "IPPool"}'}
---
apiVersion: mellanox.com/v1alpha1
kind: HostDeviceNetwork
metadata: {name: c}
spec: {resourceName: nic, ipam: '{"type": "nv-ipam", "poolName": "q"}'}
---
apiVersion: nv-ipam.nvidia.com/v1alpha1
kind: IPPool
metadata: {name: p}
spec: {subnet: 192.168.0.0/22, perNodeBlockSize: 8, gateway: 192.168.0.1, defaultGateway: true, routes: [{dst: 10.0.0.0/8}]}
---
apiVersion: nv-ipam.nvidia.com/v1alpha1
kind: CIDRPool
metadata: {name: q}
spec: {cidr: 10.60.0.0/16, gatewayIndex: 1, perNodeNetworkPrefix: 31, routes: [{dst: 10.60.0.0/15}]}
)");
  EXPECT_EQ(findings(r), "");
  ASSERT_EQ(r.set.attachments.size(), 3U);
  const AttachmentConfig& a = r.set.attachments[0];
  EXPECT_EQ(*a.plugin, "sriov");
  EXPECT_EQ(a.space, "ai");
  EXPECT_EQ(*a.mtu, 9000);
  EXPECT_EQ(to_text(*a.subnets.at(0)), "192.168.2.224/28");
  const AttachmentConfig& b = r.set.attachments[1];
  EXPECT_EQ(*b.mtu, 1500);
  EXPECT_EQ(to_text(*b.subnets.at(0)), "192.168.0.0/22");
  ASSERT_EQ(b.routes.size(), 2U);
  EXPECT_EQ(to_text(b.routes[0].gateway), "192.168.0.1");
  EXPECT_EQ(b.routes[1].destination.length, 0);
  EXPECT_EQ(to_text(*r.set.attachments[2].subnets.at(0)), "10.60.0.0/16");
  EXPECT_EQ(*r.set.attachments[2].plugin, "host-device");
}

TEST(Kube, LinksPoolsFromLaterFiles) {
  Read r = read(
      "apiVersion: mellanox.com/v1alpha1\nkind: HostDeviceNetwork\nmetadata: {name: c}\n"
      "spec: {resourceName: nic, ipam: '{\"type\": \"nv-ipam\", \"poolName\": \"q\"}'}\n");
  EXPECT_TRUE(r.set.attachments[0].subnets.empty());
  const char* pool =
      "apiVersion: nv-ipam.nvidia.com/v1alpha1\nkind: IPPool\nmetadata: {name: q}\nspec: {subnet: 10.1.0.0/24}\n";
  read_config_text("pool.yaml", pool, r.sources, r.set, r.diagnostics);
  read_config_text("other.env", "A=1\n", r.sources, r.set, r.diagnostics);
  EXPECT_EQ(r.set.attachments[0].subnets.size(), 1U);
}

TEST(Kube, ReadsNodePolicies) {
  const Read r = read(R"(apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: p}
spec:
  resourceName: rail_a
  numVfs: 4
  mtu: 9000
  nicSelector: {pfNames: ["ens1np0#0-3"], vendor: "15b3"}
  nodeSelector: {gpu: "true"}
  deviceType: netdevice
  isRdma: true
---
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: q}
spec: {resourceName: rail_b}
)");
  ASSERT_EQ(r.set.sriov.size(), 2U);
  EXPECT_EQ(*r.set.sriov[0].virtual_functions, 4);
  EXPECT_EQ(*r.set.sriov[0].mtu, 9000);
  EXPECT_TRUE(r.set.sriov[0].rdma.given() && *r.set.sriov[0].rdma);
  EXPECT_EQ(*r.set.sriov[0].interfaces.at(0), "ens1np0#0-3");
  EXPECT_EQ(r.set.sriov[0].node_selector, "gpu=true");
  // isRdma and deviceType have defaults in the operator's schema.
  EXPECT_TRUE(r.set.sriov[1].rdma.known() && !r.set.sriov[1].rdma.given() && !*r.set.sriov[1].rdma);
  EXPECT_EQ(*r.set.sriov[1].device_type, "netdevice");
}

TEST(Kube, ReadsNicTemplates) {
  const Read r = read(R"(apiVersion: configuration.net.nvidia.com/v1alpha1
kind: NicConfigurationTemplate
metadata: {name: n}
spec:
  nodeSelector: {gpu: "true"}
  nicSelector: {nicType: "1021"}
  template:
    numVfs: 8
    linkType: Ethernet
    gpuDirectOptimized: {enabled: true, env: Baremetal}
    roceOptimized:
      enabled: true
      qos:
        trust: dscp
        pfc: "0,0,0,1,0,0,0,0"
        tos: 106
        pauseFrames: {enabled: false}
        ecn: {enabled: true, priority: 3}
    rawNvConfig:
      - {name: CNP_DSCP_P1, value: "48"}
      - {name: CNP_802P_PRIO_P1, value: "0x6"}
      - {name: SOMETHING, value: "1"}
)");
  EXPECT_EQ(findings(r), "");
  ASSERT_EQ(r.set.nics.size(), 1U);
  const NicConfig& nic = r.set.nics[0];
  EXPECT_EQ(nic.nic_type, "1021");
  EXPECT_EQ(*nic.tos, 106);
  EXPECT_EQ(nic.tos.place.line, 16U);
  EXPECT_TRUE(*nic.pfc[3]);
  EXPECT_TRUE(nic.pfc[0].given() && !*nic.pfc[0]);
  EXPECT_EQ(*nic.cnp_dscp, 48);
  EXPECT_EQ(*nic.cnp_priority, 6);
  EXPECT_FALSE(nic.cc_priority_mask.given());
  EXPECT_EQ(*nic.cc_priority_mask, 255);
  EXPECT_TRUE(nic.global_pause.given() && !*nic.global_pause);
  EXPECT_TRUE(*nic.ecn);
  EXPECT_EQ(*nic.virtual_functions, 8);
}

// The defaults are those of the operator's README: ToS 0, trust dscp, PFC on 3, CNP DSCP 4, CNP priority 6, mask 255.
TEST(Kube, AppliesTheOperatorsDefaults) {
  const Read r = read(
      "apiVersion: configuration.net.nvidia.com/v1alpha1\nkind: NicConfigurationTemplate\n"
      "metadata: {name: n}\nspec: {template: {roceOptimized: {enabled: true}}}\n");
  const NicConfig& nic = r.set.nics.at(0);
  EXPECT_EQ(nic.tos.by, Decided::vendor_default);
  EXPECT_EQ(*nic.tos, 0);
  EXPECT_EQ(*nic.trust, model::TrustMode::dscp);
  for (std::size_t i = 0; i < nic.pfc.size(); ++i) EXPECT_EQ(*nic.pfc[i], i == 3);
  EXPECT_EQ(*nic.cnp_dscp, 4);
  EXPECT_EQ(*nic.cnp_priority, 6);
  EXPECT_EQ(*nic.cc_priority_mask, 255);
  EXPECT_NE(nic.cnp_dscp.path.find("CNP_DSCP 4"), std::string::npos);
  const Read off = read(
      "apiVersion: configuration.net.nvidia.com/v1alpha1\nkind: NicConfigurationTemplate\n"
      "metadata: {name: n}\nspec: {template: {roceOptimized: {enabled: false}}}\n");
  EXPECT_FALSE(off.set.nics.at(0).tos.known());
}

TEST(Kube, RejectsNicValuesOutOfRange) {
  const Read r = read(
      "apiVersion: configuration.net.nvidia.com/v1alpha1\nkind: NicConfigurationTemplate\n"
      "metadata: {name: n}\nspec: {template: {roceOptimized: {enabled: true, qos: {trust: both,\n"
      "  pfc: '0,1', tos: 256}}, rawNvConfig: [{name: CNP_DSCP_P1, value: '64'}]}}\n");
  EXPECT_EQ(r.diagnostics.warning_count(), 4U) << findings(r);
  EXPECT_EQ(r.set.nics.at(0).cnp_dscp.by, Decided::vendor_default);
}

}  // namespace
}  // namespace weft::config
