// Tasks that several playbooks import. See automation/ansible_texts.h.
#include <array>

#include "render/automation/ansible_texts.h"

namespace weft::render {
namespace {

constexpr std::string_view kInstall = R"yaml(
- name: Folders
  ansible.builtin.file:
    path: "{{ item }}"
    state: directory
    mode: "0755"
  loop: "{{ weft_install | map(attribute='dest') | map('dirname') | unique | list }}"
- name: Files
  ansible.builtin.copy:
    src: "{{ weft_tree }}/{{ item.src }}"
    dest: "{{ item.dest }}"
    mode: "{{ item.mode }}"
    owner: "{{ item.owner }}"
    group: "{{ item.group }}"
  loop: "{{ weft_install }}"
  loop_control:
    label: "{{ item.dest }}"
  register: weft_copied
- name: Put into effect what changed
  ansible.builtin.shell: "{{ item }}"
  loop: "{{ weft_copied.results | selectattr('changed') | map(attribute='item.apply') | select | unique | list }}"
  changed_when: true
)yaml";

constexpr std::string_view kManifest = R"yaml(
- name: Read the manifest
  ansible.builtin.set_fact:
    weft_manifest: "{{ lookup('ansible.builtin.file', weft_tree ~ '/manifest.json') | from_json }}"
- name: Sort it by device, once for all hosts
  ansible.builtin.set_fact:
    weft_by_device: "{{ dict(weft_manifest.files | groupby('device', default='')) }}"
    weft_by_target: "{{ dict(weft_manifest.files | groupby('target', default='')) }}"
)yaml";

constexpr std::string_view kSlurmFiles = R"yaml(
- name: Where Slurm looks
  ansible.builtin.file:
    path: /etc/slurm
    state: directory
    mode: "0755"
- name: The MUNGE key, read from the file that the environment names
  ansible.builtin.copy:
    src: "{{ lookup('ansible.builtin.env', 'WEFT_MUNGE_KEY_FILE') }}"
    dest: /etc/munge/munge.key
    mode: "{{ weft_munge_key_mode }}"
    owner: munge
    group: munge
  no_log: true
  register: weft_munge
- name: MUNGE takes it over
  ansible.builtin.systemd:
    name: munge
    state: restarted
  when: weft_munge is changed
- name: Configuration, as the manifest says
  ansible.builtin.copy:
    src: "{{ weft_tree }}/{{ item.path }}"
    dest: "{{ item.install }}"
    mode: "{{ item.mode }}"
    owner: "{{ item.owner }}"
    group: "{{ item.group }}"
  loop: >-
    {{ (weft_all | rejectattr('device', 'defined') | list)
    + (weft_all | selectattr('device', 'defined')
    | selectattr('device', 'in', [weft_pool, inventory_hostname]) | list) }}
  vars:
    weft_all: >-
      {{ hostvars['localhost'].weft_by_target['slurm'] | default([]) | selectattr('install', 'defined')
      | rejectattr('install', 'in', ['/etc/hosts', '/etc/munge/munge.key']) | list }}
  loop_control:
    label: "{{ item.install }}"
)yaml";

// SONiC and Cumulus Linux are Linux to Ansible. NX-OS and EOS take a file by scp and a command by ssh.
constexpr std::string_view kPush = R"yaml(
- name: What was rendered for this switch
  ansible.builtin.set_fact:
    weft_switch_files: "{{ hostvars['localhost'].weft_by_device[inventory_hostname] | default([]) }}"
- name: Something was
  ansible.builtin.assert:
    that: weft_switch_files | length > 0
    fail_msg: "nothing was rendered for {{ inventory_hostname }} ({{ weft_system }})"
- name: Keep what it runs now
  ansible.builtin.import_tasks: backup-switch.yml
- name: Folders on the switch
  ansible.builtin.file:
    path: "{{ item.install | dirname }}"
    state: directory
    mode: "0755"
  loop: "{{ weft_switch_files | selectattr('install', 'defined') }}"
  loop_control:
    label: "{{ item.install }}"
  become: true
  when: weft_system in ['sonic', 'cumulus']
- name: Copy to a switch that is Linux
  ansible.builtin.copy:
    src: "{{ weft_tree }}/{{ item.path }}"
    dest: "{{ item.install }}"
    mode: "{{ item.mode }}"
    backup: true
  loop: "{{ weft_switch_files | selectattr('install', 'defined') }}"
  loop_control:
    label: "{{ item.install }}"
  become: true
  when: weft_system in ['sonic', 'cumulus']
- name: Put it into effect there
  ansible.builtin.shell: "{{ item.apply }}"
  loop: "{{ weft_switch_files | selectattr('apply', 'defined') | sort(attribute='order') }}"
  loop_control:
    label: "{{ item.apply }}"
  become: true
  changed_when: true
  when: weft_system in ['sonic', 'cumulus']
- name: Copy to a switch that has a command line
  ansible.builtin.command:
    argv:
      - scp
      - -O
      - -o
      - "ProxyJump={{ weft_proxy }}"
      - "{{ weft_tree }}/{{ item.path }}"
      - "{{ ansible_user }}@{{ ansible_host }}:{{ item.install }}"
  loop: "{{ weft_switch_files | selectattr('install', 'defined') }}"
  loop_control:
    label: "{{ item.install }}"
  delegate_to: localhost
  changed_when: true
  when: weft_system in ['nxos', 'eos']
- name: Let it replace what it runs
  ansible.builtin.raw: "{{ item.apply }}"
  loop: "{{ weft_switch_files | selectattr('apply', 'defined') | sort(attribute='order') }}"
  loop_control:
    label: "{{ item.apply }}"
  changed_when: true
  when: weft_system in ['nxos', 'eos']
- name: It answers again
  ansible.builtin.wait_for:
    host: "{{ ansible_host }}"
    port: 22
    timeout: 900
  delegate_to: "{{ weft_bmc_from }}"
- name: Its neighbours are those of the design
  ansible.builtin.import_tasks: verify-switch.yml
)yaml";

constexpr std::string_view kBackup = R"yaml(
- name: Where copies are kept
  ansible.builtin.file:
    path: "{{ weft_backup }}"
    state: directory
    mode: "0700"
  delegate_to: localhost
  run_once: true
- name: Ask for the running configuration
  ansible.builtin.raw: "{{ weft_show[weft_system] }}"
  vars:
    weft_show:
      sonic: sudo cat /etc/sonic/config_db.json
      cumulus: nv config show -o json
      nxos: show running-config
      eos: show running-config
      junos: show configuration | display set
      mlnx-os: show running-config
      nvos: nv config show -o json
  register: weft_running
  changed_when: false
- name: Keep it, readable by nobody else
  ansible.builtin.copy:
    content: "{{ weft_running.stdout }}"
    dest: "{{ weft_backup }}/{{ inventory_hostname }}.cfg"
    mode: "0600"
    backup: true
  delegate_to: localhost
)yaml";

constexpr std::string_view kDrain = R"yaml(
- name: Send traffic over other switches
  ansible.builtin.raw: "{{ weft_commands[weft_system] }}"
  vars:
    weft_commands:
      sonic: sudo config bgp shutdown all
      cumulus: nv action enable system maintenance mode
      nxos: configure terminal ; system mode maintenance dont-generate-profile
      eos: "bash FastCli -p 15 -c $'configure\\nmaintenance\\nunit System\\nquiesce'"
  changed_when: true
  when: weft_system in weft_commands
- name: Wait until nothing comes through it any more
  ansible.builtin.pause:
    seconds: "{{ weft_drain_seconds | default(60) }}"
)yaml";

constexpr std::string_view kUndrain = R"yaml(
- name: Let traffic back
  ansible.builtin.raw: "{{ weft_commands[weft_system] }}"
  vars:
    weft_commands:
      sonic: sudo config bgp startup all
      cumulus: nv action disable system maintenance mode
      nxos: configure terminal ; no system mode maintenance dont-generate-profile
      eos: "bash FastCli -p 15 -c $'configure\\nmaintenance\\nunit System\\nno quiesce'"
  changed_when: true
  when: weft_system in weft_commands
- name: Wait until routes are back
  ansible.builtin.pause:
    seconds: "{{ weft_drain_seconds | default(60) }}"
- name: Its neighbours are those of the design
  ansible.builtin.import_tasks: verify-switch.yml
)yaml";

constexpr std::string_view kVerify = R"yaml(
- name: Ask for sessions
  ansible.builtin.raw: "{{ weft_commands[weft_system] | default('true') }}"
  vars:
    weft_commands:
      sonic: vtysh -c 'show bgp vrf all summary json'
      cumulus: sudo vtysh -c 'show bgp vrf all summary json'
      nxos: show bgp sessions vrf all | json
      eos: show bgp summary vrf all | json
  register: weft_sessions
  changed_when: false
  until: weft_sessions.rc == 0 and weft_sessions.stdout is not search('"state"\s*:\s*"(Idle|Active|Connect)')
  retries: 30
  delay: 10
)yaml";

constexpr std::string_view kRedfish = R"yaml(
- name: Ask the BMC for its collections
  ansible.builtin.uri:
    url: "https://{{ weft_bmc }}/redfish/v1/{{ item }}"
    user: "{{ lookup('ansible.builtin.env', 'WEFT_BMC_USER') }}"
    password: "{{ lookup('ansible.builtin.env', 'WEFT_BMC_PASSWORD') }}"
    force_basic_auth: true
    validate_certs: "{{ weft_verify_tls }}"
    return_content: true
  loop: [Systems, Managers]
  register: weft_collections
  delegate_to: "{{ weft_bmc_from }}"
  no_log: true
- name: Take the first system and the first manager
  ansible.builtin.set_fact:
    weft_system_id: "{{ weft_collections.results[0].json.Members[0]['@odata.id'] | basename }}"
    weft_manager_id: "{{ weft_collections.results[1].json.Members[0]['@odata.id'] | basename }}"
- name: Ask for the way in from the operating system
  ansible.builtin.uri:
    url: "https://{{ weft_bmc }}/redfish/v1/Managers/{{ weft_manager_id }}/HostInterfaces"
    user: "{{ lookup('ansible.builtin.env', 'WEFT_BMC_USER') }}"
    password: "{{ lookup('ansible.builtin.env', 'WEFT_BMC_PASSWORD') }}"
    force_basic_auth: true
    validate_certs: "{{ weft_verify_tls }}"
    status_code: [200, 404]
    return_content: true
  register: weft_host_interfaces
  delegate_to: "{{ weft_bmc_from }}"
  no_log: true
- name: Take the first, or none
  ansible.builtin.set_fact:
    weft_host_interface_id: "{{ ((weft_host_interfaces.json.Members | default([]) | first) | default({}))['@odata.id'] | default('') | basename }}"
)yaml";

constexpr std::string_view kOut = R"yaml(
- name: Slurm gives the node no new jobs
  ansible.builtin.command:
    argv: [scontrol, update, "nodename={{ node }}", state=drain, "reason={{ weft_reason | default('maintenance') }}"]
  delegate_to: "{{ groups['controllers'] | first }}"
  become: true
  changed_when: true
  when: weft_slurm and weft_in_slurm | default(false)
- name: Wait for the jobs it has
  ansible.builtin.command:
    argv: [squeue, --noheader, --format, "%i", --nodelist, "{{ node }}"]
  delegate_to: "{{ groups['controllers'] | first }}"
  become: true
  register: weft_jobs
  changed_when: false
  until: weft_jobs.stdout | trim | length == 0
  retries: "{{ weft_drain_retries | default(120) }}"
  delay: 30
  when: weft_slurm and weft_in_slurm | default(false)
- name: Kubernetes moves its pods, within their disruption budgets
  ansible.builtin.command:
    argv: [kubectl, drain, "{{ node }}", --ignore-daemonsets, --delete-emptydir-data, --timeout=30m]
  delegate_to: "{{ groups['controllers'] | first }}"
  changed_when: true
  when: weft_kubernetes and weft_in_kubernetes | default(false)
)yaml";

constexpr std::string_view kBack = R"yaml(
- name: Kubernetes gives the node pods again
  ansible.builtin.command:
    argv: [kubectl, uncordon, "{{ node }}"]
  delegate_to: "{{ groups['controllers'] | first }}"
  changed_when: true
  when: weft_kubernetes and weft_in_kubernetes | default(false)
- name: Slurm gives it jobs again
  ansible.builtin.command:
    argv: [scontrol, update, "nodename={{ node }}", state=resume]
  delegate_to: "{{ groups['controllers'] | first }}"
  become: true
  changed_when: true
  when: weft_slurm and weft_in_slurm | default(false)
)yaml";

constexpr auto kNothing = PlaybookNeeds::nothing;
constexpr std::array<PlaybookText, 11> kTasks = {{
    {"tasks/install-files.yml", "Copies weft_install and puts into effect what changed.", kNothing, kInstall},
    {"tasks/read-manifest.yml", "Reads the manifest of the tree, once.", kNothing, kManifest},
    {"tasks/slurm-files.yml", "Keys and configuration of Slurm on a host.", PlaybookNeeds::slurm, kSlurmFiles},
    {"tasks/push-switch.yml", "Copies what was rendered for a switch, applies and verifies it.", kNothing, kPush},
    {"tasks/backup-switch.yml", "Keeps a copy of what a switch runs.", kNothing, kBackup},
    {"tasks/drain-switch.yml", "Takes traffic off a switch.", kNothing, kDrain},
    {"tasks/undrain-switch.yml", "Lets traffic back onto a switch.", kNothing, kUndrain},
    {"tasks/verify-switch.yml", "Waits until the sessions of a switch are up.", kNothing, kVerify},
    {"tasks/redfish-names.yml", "What a BMC calls its system and itself.", kNothing, kRedfish},
    {"tasks/node-out.yml", "Takes a node out of service, jobs first.", kNothing, kOut},
    {"tasks/node-back.yml", "Takes a node back into service.", kNothing, kBack},
}};

}  // namespace

std::span<const PlaybookText> ansible_tasks() { return kTasks; }

}  // namespace weft::render
