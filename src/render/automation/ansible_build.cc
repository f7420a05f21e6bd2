// Playbooks that build the cluster. See automation/ansible_texts.h.
#include <array>

#include "render/automation/ansible_texts.h"

namespace weft::render {
namespace {

constexpr std::string_view kBaseline = R"yaml(
- name: Operating system of every server
  hosts: "{{ node | default('servers') }}"
  become: true
  gather_facts: false
  tasks:
    - name: Name the host
      ansible.builtin.hostname:
        name: "{{ inventory_hostname }}"
        use: systemd
    - name: Copy the files of its pool and put them into effect
      ansible.builtin.import_tasks: tasks/install-files.yml
      vars:
        weft_install: "{{ weft_common_files.base + weft_files.base }}"
)yaml";

constexpr std::string_view kNics = R"yaml(
- name: Names, addresses and classes of network ports
  hosts: "{{ node | default('servers') }}"
  become: true
  gather_facts: false
  serial: "{{ weft_serial | default('10%') }}"
  max_fail_percentage: 0
  tasks:
    - name: Install what finds neighbours
      ansible.builtin.package:
        name: [lldpd, iproute2, ethtool, rdma-core, infiniband-diags]
        state: present
      when: weft_packages | default(true) | bool
    - name: Copy what names ports
      ansible.builtin.import_tasks: tasks/install-files.yml
      vars:
        weft_install: "{{ weft_common_files.naming }}"
    - name: Where its wiring goes
      ansible.builtin.file:
        path: /etc/weft
        state: directory
        mode: "0755"
    - name: Copy this host's rows of its pool's wiring
      ansible.builtin.copy:
        content: "{{ lookup('ansible.builtin.pipe', weft_rows) }}\n"
        dest: /etc/weft/wiring.tsv
        mode: "0644"
        owner: root
        group: root
      vars:
        weft_rows: >-
          awk -v host={{ inventory_hostname | quote }} '$1 == host || /^#/'
          {{ (weft_tree ~ '/host/' ~ weft_pool ~ '/wiring.tsv') | quote }}
    - name: Name ports after their cables
      ansible.builtin.command: /usr/local/sbin/weft-name-nics --host {{ inventory_hostname }}
      register: weft_naming
      changed_when: "'changed' in weft_naming.stdout"
      failed_when: weft_naming.rc == 2 or (weft_naming.rc == 1 and not (weft_missing_cables | default(false) | bool))
      when: not ansible_check_mode
    - name: See which ports have their names already
      ansible.builtin.stat:
        path: "/sys/class/net/{{ item }}"
      loop: "{{ weft_rails.keys() | list }}"
      register: weft_named
    - name: Copy addresses and routes
      ansible.builtin.copy:
        src: "{{ weft_tree }}/host/{{ weft_pool }}/{{ inventory_hostname }}/netplan/60-weft.yaml"
        dest: /etc/netplan/60-weft.yaml
        mode: "0600"
        owner: root
        group: root
      register: weft_addresses
    - name: Read them once without effect
      ansible.builtin.command: netplan generate
      changed_when: false
      when: not ansible_check_mode
    - name: Start anew where names changed, since a port that is up keeps its name
      ansible.builtin.reboot:
        reboot_timeout: 1800
      when:
        - not ansible_check_mode
        - weft_naming is changed or weft_named.results | rejectattr('stat.exists') | list | length > 0
    - name: Take addresses over
      ansible.builtin.command: netplan apply
      when: weft_addresses is changed
      changed_when: true
    - name: Copy classes, pause and marking
      ansible.builtin.import_tasks: tasks/install-files.yml
      vars:
        weft_install: "{{ weft_files.qos }}"
      when: weft_files.qos | length > 0
    - name: Look at the ports
      ansible.builtin.command: ip -json link show
      register: weft_links
      changed_when: false
      check_mode: false
    - name: Every port of the design is there and up
      ansible.builtin.assert:
        that:
          - weft_found | map(attribute='ifname') | list is superset(weft_rails.keys() | list)
          - >-
            weft_found | selectattr('ifname', 'in', weft_rails.keys() | list)
            | rejectattr('flags', 'contains', 'LOWER_UP') | list | length == 0
        fail_msg: "ports {{ weft_rails.keys() | list }} are wanted, up are {{ weft_found | map(attribute='ifname') | list }}"
      vars:
        weft_found: "{{ weft_links.stdout | default('[]', true) | from_json }}"
      when: not ansible_check_mode
)yaml";

constexpr std::string_view kStorage = R"yaml(
- name: Storage servers export first
  hosts: "storage_servers:&{{ node | default('all') }}"
  become: true
  gather_facts: false
  tasks:
    - name: Copy exports and put them into effect
      ansible.builtin.import_tasks: tasks/install-files.yml
      vars:
        weft_install: "{{ weft_files.exports }}"

- name: Clients of storage
  hosts: "storage_clients:&{{ node | default('all') }}"
  become: true
  gather_facts: false
  tasks:
    - name: Install what mounts
      ansible.builtin.package:
        name: [nvme-cli, multipath-tools, nfs-common]
        state: present
      when: weft_packages | default(true) | bool
    - name: Copy connections, multipath and modules, and put them into effect
      ansible.builtin.import_tasks: tasks/install-files.yml
      vars:
        weft_install: "{{ weft_files.storage }}"
    - name: Keep mounts between marks in fstab
      ansible.builtin.blockinfile:
        path: /etc/fstab
        marker: "# {mark} weft"
        block: "{{ lookup('ansible.builtin.file', weft_tree ~ '/' ~ weft_files.fstab) }}"
      register: weft_fstab
      when: weft_files.fstab | length > 0
    - name: Let systemd read it
      ansible.builtin.systemd:
        daemon_reload: true
      when: weft_fstab is changed
    - name: Start automounts
      ansible.builtin.systemd:
        name: remote-fs.target
        state: restarted
      when: weft_fstab is changed
)yaml";

constexpr std::string_view kSlurm = R"yaml(
- name: Read what was rendered
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Sort the manifest
      ansible.builtin.import_tasks: tasks/read-manifest.yml
    - name: A MUNGE key is at hand
      ansible.builtin.assert:
        that: lookup('ansible.builtin.env', 'WEFT_MUNGE_KEY_FILE') | length > 0
        fail_msg: WEFT_MUNGE_KEY_FILE names the file that slurm/make-keys wrote, or a copy that the secret store gave.

- name: Controllers first, one at a time
  hosts: controllers
  become: true
  gather_facts: false
  serial: 1
  tasks:
    - name: Keys and configuration
      ansible.builtin.import_tasks: tasks/slurm-files.yml
    - name: The database and the controller run
      ansible.builtin.systemd:
        name: "{{ item }}"
        state: started
        enabled: true
      loop: [munge, slurmctld]

- name: Then the nodes
  hosts: slurm_nodes:role_login
  become: true
  gather_facts: false
  tasks:
    - name: Keys and configuration
      ansible.builtin.import_tasks: tasks/slurm-files.yml
    - name: The node's daemon runs
      ansible.builtin.systemd:
        name: "{{ item }}"
        state: started
        enabled: true
      loop: "{{ ['munge', 'slurmd'] if 'slurm_nodes' in group_names else ['munge'] }}"

- name: Let the controller read its files again
  hosts: controllers[0]
  become: true
  gather_facts: false
  tasks:
    - name: Reconfigure
      ansible.builtin.command: scontrol reconfigure
      changed_when: true
)yaml";

constexpr std::string_view kKubernetes = R"yaml(
- name: Networks of pods on the nodes
  hosts: kubernetes_nodes
  become: true
  gather_facts: false
  tasks:
    - name: Where Multus looks
      ansible.builtin.file:
        path: /etc/cni/multus/net.d
        state: directory
        mode: "0755"
    - name: Copy the networks of the node's unit
      ansible.builtin.copy:
        src: "{{ weft_cni }}/"
        dest: /etc/cni/multus/net.d/
        mode: "0644"
        owner: root
        group: root
      vars:
        weft_cni: "{{ weft_tree }}/kubernetes/network/cni/{{ weft_unit | default('') }}"
      when:
        - weft_unit is defined
        - weft_cni is directory
    - name: Where systemd looks
      ansible.builtin.file:
        path: "/etc/systemd/system/{{ item }}.service.d"
        state: directory
        mode: "0755"
      loop: [containerd, kubelet]
    - name: Memory that a job may pin, for the container runtime
      ansible.builtin.copy:
        content: |
          [Service]
          LimitMEMLOCK=infinity
        dest: "/etc/systemd/system/{{ item }}.service.d/weft.conf"
        mode: "0644"
      loop: [containerd, kubelet]
      register: weft_runtime
    - name: Let systemd read it
      ansible.builtin.systemd:
        daemon_reload: true
      when: weft_runtime is changed
)yaml";

constexpr std::string_view kPlatform = R"yaml(
- name: What runs on Kubernetes
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Sort the manifest
      ansible.builtin.import_tasks: tasks/read-manifest.yml
    - name: Apply in the manifest's order
      ansible.builtin.command:
        argv: [kubectl, apply, --server-side, --filename, "{{ weft_tree }}/{{ item.path }}"]
      loop: "{{ weft_manifest.files | selectattr('path', 'match', 'kubernetes/.*[.]yaml$') | sort(attribute='order') }}"
      loop_control:
        label: "{{ item.path }}"
      when: "'kubectl apply' in item.apply | default('')"
      register: weft_applied
      changed_when: weft_applied.stdout is defined and weft_applied.stdout is not search('unchanged')
)yaml";

constexpr std::string_view kSwitches = R"yaml(
- name: Read what was rendered
  hosts: localhost
  connection: local
  gather_facts: false
  tags: [always]
  tasks:
    - name: Sort the manifest
      ansible.builtin.import_tasks: tasks/read-manifest.yml

# The lifeline first: whatever goes wrong later is mended over it.
- name: Out-of-band switches, one at a time
  hosts: fabric_oob:&switches
  gather_facts: false
  serial: 1
  max_fail_percentage: 0
  tags: [oob]
  tasks:
    - name: Push and verify
      ansible.builtin.import_tasks: tasks/push-switch.yml

- name: Spines and cores of the data fabrics, one at a time, drained
  hosts: tier_core:tier_spine:!fabric_oob
  gather_facts: false
  serial: 1
  max_fail_percentage: 0
  tags: [spines]
  tasks:
    - name: Send traffic over the others
      ansible.builtin.import_tasks: tasks/drain-switch.yml
      when: weft_drain | default(true) | bool
    - name: Push and verify
      ansible.builtin.import_tasks: tasks/push-switch.yml
    - name: Let traffic back
      ansible.builtin.import_tasks: tasks/undrain-switch.yml
      when: weft_drain | default(true) | bool

# A leaf is the only way to its ports of a rail: those who run this drain its servers, or accept that jobs restart.
- name: Leaves of the data fabrics, one at a time
  hosts: tier_leaf:!fabric_oob
  gather_facts: false
  serial: 1
  max_fail_percentage: 0
  tags: [leaves]
  tasks:
    - name: Push and verify
      ansible.builtin.import_tasks: tasks/push-switch.yml
)yaml";

constexpr std::string_view kFirmware = R"yaml(
- name: BMC and BIOS of every server, over Redfish
  hosts: "{{ node | default('servers') }}"
  gather_facts: false
  serial: "{{ weft_serial | default('10%') }}"
  vars:
    weft_policies:
      - "{{ lookup('ansible.builtin.file', weft_tree ~ '/host/' ~ weft_pool ~ '/bmc-policy.json') | from_json }}"
      - "{{ lookup('ansible.builtin.file', weft_tree ~ '/host/' ~ weft_pool ~ '/bios-policy.json') | from_json }}"
  tasks:
    - name: Find out what the BMC calls things
      ansible.builtin.import_tasks: tasks/redfish-names.yml
    - name: Set what the policies say
      ansible.builtin.uri:
        url: >-
          https://{{ weft_bmc }}{{ item.path | replace('{system}', weft_system_id) | replace('{manager}', weft_manager_id)
          | replace('{host_interface}', weft_host_interface_id) }}
        method: "{{ item.method }}"
        body: "{{ item.body }}"
        body_format: json
        user: "{{ lookup('ansible.builtin.env', 'WEFT_BMC_USER') }}"
        password: "{{ lookup('ansible.builtin.env', 'WEFT_BMC_PASSWORD') }}"
        force_basic_auth: true
        validate_certs: "{{ weft_verify_tls }}"
        status_code: [200, 201, 202, 204]
        headers:
          If-Match: "*"
      loop: "{{ weft_policies | map(attribute='requests') | flatten }}"
      loop_control:
        label: "{{ item.method }} {{ item.path }}"
      when: "'{host_interface}' not in item.path or weft_host_interface_id | length > 0"
      delegate_to: "{{ weft_bmc_from }}"
      no_log: true
)yaml";

constexpr std::string_view kFirmwareCheck = R"yaml(
- name: Versions and settings of firmware, read only
  hosts: "{{ node | default('servers') }}"
  gather_facts: false
  tasks:
    - name: Find out what the BMC calls things
      ansible.builtin.import_tasks: tasks/redfish-names.yml
    - name: Ask for its firmware
      ansible.builtin.uri:
        url: "https://{{ weft_bmc }}{{ item }}"
        user: "{{ lookup('ansible.builtin.env', 'WEFT_BMC_USER') }}"
        password: "{{ lookup('ansible.builtin.env', 'WEFT_BMC_PASSWORD') }}"
        force_basic_auth: true
        validate_certs: "{{ weft_verify_tls }}"
        return_content: true
      loop:
        - "/redfish/v1/Systems/{{ weft_system_id }}"
        - "/redfish/v1/Systems/{{ weft_system_id }}/Bios"
        - "/redfish/v1/Managers/{{ weft_manager_id }}"
        - "/redfish/v1/Managers/{{ weft_manager_id }}/NetworkProtocol"
      register: weft_firmware
      delegate_to: "{{ weft_bmc_from }}"
      no_log: true
    - name: IPMI over the network is as the design says, and BIOS and BMC are of the versions that were accepted
      ansible.builtin.assert:
        that:
          - weft_answers[3].IPMI.ProtocolEnabled | default(false) | bool == (weft_ipmi_over_lan | bool)
          - weft_bios_version is not defined or weft_answers[0].BiosVersion == weft_bios_version
          - weft_bmc_version is not defined or weft_answers[2].FirmwareVersion == weft_bmc_version
      vars:
        weft_answers: "{{ weft_firmware.results | map(attribute='json') | list }}"
    - name: BIOS attributes are as the policy says
      ansible.builtin.assert:
        that: item.value == (weft_firmware.results[1].json.Attributes[item.key] | default(item.value))
        quiet: true
      loop: "{{ weft_requests | map(attribute='body.Attributes', default={}) | combine | dict2items }}"
      loop_control:
        label: "{{ item.key }}"
      vars:
        weft_policy: "{{ lookup('ansible.builtin.file', weft_tree ~ '/host/' ~ weft_pool ~ '/bios-policy.json') | from_json }}"
        weft_requests: "{{ weft_policy.requests }}"
      when: weft_requests | length > 0

- name: Firmware of NICs and drivers of GPUs, from the operating system
  hosts: "{{ node | default('servers') }}"
  become: true
  gather_facts: false
  tasks:
    - name: Ask every port
      ansible.builtin.command: ethtool -i {{ item }}
      loop: "{{ weft_rails.keys() | list }}"
      register: weft_ports
      changed_when: false
    - name: Ports of one kind run one version
      ansible.builtin.assert:
        that: weft_versions | unique | length <= 1
        fail_msg: "{{ weft_versions | unique }}"
      vars:
        weft_versions: >-
          {{ weft_ports.results | map(attribute='stdout')
          | map('regex_search', 'firmware-version: (.*)', '\\1') | flatten | list }}
    - name: Ask the GPUs
      ansible.builtin.command: nvidia-smi --query-gpu=driver_version,vbios_version --format=csv,noheader
      register: weft_gpu_versions
      changed_when: false
      when: weft_gpus | default(0) | int > 0
    - name: All of them are there, with one driver and one BIOS
      ansible.builtin.assert:
        that:
          - weft_gpu_versions.stdout_lines | length == weft_gpus | int
          - weft_gpu_versions.stdout_lines | unique | length == 1
      when: weft_gpus | default(0) | int > 0
)yaml";

constexpr std::string_view kAcceptance = R"yaml(
- name: Every rail carries full frames at full speed, to its own leaf
  hosts: "{{ node | default('servers') }}"
  become: true
  gather_facts: false
  tasks:
    - name: Speed of each port
      ansible.builtin.command: cat /sys/class/net/{{ item.key }}/speed
      loop: "{{ weft_speeds | dict2items }}"
      loop_control:
        label: "{{ item.key }}"
      register: weft_speed
      changed_when: false
      failed_when: weft_speed.stdout | int != item.value | int
    - name: Full frames to the gateway of each rail, unfragmented
      ansible.builtin.command: ping -c 3 -W 1 -M do -s {{ item.value.bytes }} -I {{ item.key }} {{ item.value.gateway }}
      loop: "{{ weft_gateways | default({}) | dict2items }}"
      loop_control:
        label: "{{ item.key }}"
      changed_when: false
    - name: All GPUs answer
      ansible.builtin.command: nvidia-smi --query-gpu=index --format=csv,noheader
      register: weft_gpu_list
      changed_when: false
      failed_when: weft_gpu_list.rc != 0 or weft_gpu_list.stdout_lines | length != weft_gpus | int
      when: weft_gpus | default(0) | int > 0

- name: What else was rendered for acceptance
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Sort the manifest
      ansible.builtin.import_tasks: tasks/read-manifest.yml
    - name: Say what is left to run by hand, in its order
      ansible.builtin.debug:
        msg: "{{ item.path }}: {{ item.apply | default('') }}"
      loop: "{{ weft_manifest.files | selectattr('stage', 'eq', 'acceptance') | sort(attribute='order') }}"
      loop_control:
        label: "{{ item.path }}"
)yaml";

constexpr auto kNothing = PlaybookNeeds::nothing;
constexpr std::array<PlaybookText, 10> kPlaybooks = {{
    {"os-baseline.yml", "Kernel settings, limits, modules, time, names, logins.", kNothing, kBaseline},
    {"nics.yml", "Names ports after their cables, gives them addresses, routes and classes.", kNothing, kNics},
    {"storage-clients.yml", "Exports, NVMe connections, multipath, mounts.", kNothing, kStorage},
    {"slurm.yml", "MUNGE, Slurm's controllers and nodes.", PlaybookNeeds::slurm, kSlurm},
    {"kubernetes-nodes.yml", "What pods' networks need on the nodes.", PlaybookNeeds::kubernetes, kKubernetes},
    {"platform.yml", "Applies what was rendered for Kubernetes.", PlaybookNeeds::kubernetes, kPlatform},
    {"switches.yml", "Pushes switch configuration: out-of-band first, spines one at a time and drained.", kNothing,
     kSwitches},
    {"firmware.yml", "Sets BMC and BIOS as the policies say.", kNothing, kFirmware},
    {"firmware-check.yml", "Compares firmware with the policies, and with itself.", kNothing, kFirmwareCheck},
    {"acceptance.yml", "Tests before the first job.", kNothing, kAcceptance},
}};
}  // namespace

std::span<const PlaybookText> ansible_build_playbooks() { return kPlaybooks; }

}  // namespace weft::render
