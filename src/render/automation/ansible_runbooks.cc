// Runbooks of day 2. Each takes what it acts on as a variable: ansible-playbook node-drain.yml -e node=train001.
#include <array>

#include "render/automation/ansible_texts.h"

namespace weft::render {
namespace {

constexpr std::string_view kNodeDrain = R"yaml(
- name: One node is named
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: It is a server of the inventory
      ansible.builtin.assert:
        that: node is defined and node in groups['servers']
        fail_msg: "say which: -e node=NAME [-e back=true]"

- name: Take it out of service, or back
  hosts: "{{ node | default('nobody') }}"
  gather_facts: false
  tasks:
    - name: Out
      ansible.builtin.import_tasks: tasks/node-out.yml
      when: not (back | default(false) | bool)
    - name: Back
      ansible.builtin.import_tasks: tasks/node-back.yml
      when: back | default(false) | bool
)yaml";

constexpr std::string_view kGpuReset = R"yaml(
- name: One node is named
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: It is a server of the inventory
      ansible.builtin.assert:
        that: node is defined and node in groups['servers']
        fail_msg: "say which: -e node=NAME [-e gpu=INDEX]"

- name: Reset its GPUs
  hosts: "{{ node | default('nobody') }}"
  become: true
  gather_facts: false
  tasks:
    - name: Out of service
      ansible.builtin.import_tasks: tasks/node-out.yml
    - name: What holds the GPUs stops
      ansible.builtin.systemd:
        name: "{{ item }}"
        state: stopped
      loop: [nvidia-persistenced, nvidia-dcgm]
      failed_when: false
    - name: Nobody uses them
      ansible.builtin.command: nvidia-smi --query-compute-apps=pid --format=csv,noheader
      register: weft_users
      changed_when: false
      failed_when: weft_users.stdout | trim | length > 0
    - name: Reset; GPUs that NVSwitch joins are reset together
      ansible.builtin.command: nvidia-smi --gpu-reset{{ ' --id=' ~ gpu if gpu is defined and not weft_nvswitch else '' }}
      changed_when: true
    - name: What held them starts
      ansible.builtin.systemd:
        name: "{{ item }}"
        state: started
      loop: [nvidia-fabricmanager, nvidia-persistenced, nvidia-dcgm]
      failed_when: false
    - name: They pass a short test
      ansible.builtin.command: dcgmi diag --run 1
      changed_when: false
    - name: All of them are back
      ansible.builtin.command: nvidia-smi --query-gpu=index --format=csv,noheader
      register: weft_gpu_list
      changed_when: false
      failed_when: weft_gpu_list.stdout_lines | length != weft_gpus | int
    - name: Back into service
      ansible.builtin.import_tasks: tasks/node-back.yml
)yaml";

constexpr std::string_view kFailover = R"yaml(
- name: One spine is named
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: It is a spine or a core, and not the only one
      ansible.builtin.assert:
        that:
          - switch is defined
          - switch in groups['tier_spine'] | default([]) + groups['tier_core'] | default([])
        fail_msg: "say which: -e switch=NAME"

- name: Before
  hosts: "{{ weft_probe | default('servers') }}"
  gather_facts: false
  become: true
  tasks:
    - name: Every rail reaches its gateway
      ansible.builtin.import_tasks: tasks/probe-rails.yml

- name: Drain it
  hosts: "{{ switch | default('nobody') }}"
  gather_facts: false
  tasks:
    - name: Send traffic over the others
      ansible.builtin.import_tasks: tasks/drain-switch.yml

- name: Without it
  hosts: "{{ weft_probe | default('servers') }}"
  gather_facts: false
  become: true
  tasks:
    - name: Every rail still reaches its gateway
      ansible.builtin.import_tasks: tasks/probe-rails.yml

- name: Undrain it
  hosts: "{{ switch | default('nobody') }}"
  gather_facts: false
  tasks:
    - name: Let traffic back
      ansible.builtin.import_tasks: tasks/undrain-switch.yml
)yaml";

constexpr std::string_view kProbe = R"yaml(
- name: Three full frames to the gateway of each rail
  ansible.builtin.command: ping -c 3 -W 1 -M do -s {{ item.value.bytes }} -I {{ item.key }} {{ item.value.gateway }}
  loop: "{{ weft_gateways | default({}) | dict2items }}"
  loop_control:
    label: "{{ item.key }}"
  changed_when: false
)yaml";

constexpr std::string_view kReplace = R"yaml(
- name: One node is named
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: It is a server of the inventory
      ansible.builtin.assert:
        that: node is defined and node in groups['servers']
        fail_msg: "say which: -e node=NAME; its cables stay where the wiring table has them"

- name: The old one leaves
  hosts: "{{ node | default('nobody') }}"
  gather_facts: false
  tasks:
    - name: Out of service
      ansible.builtin.import_tasks: tasks/node-out.yml
      when: not (dead | default(false) | bool)
    - name: Its key is forgotten
      ansible.builtin.command:
        argv: [ssh-keygen, -R, "{{ ansible_host }}"]
      delegate_to: localhost
      changed_when: true
      failed_when: false
    - name: Wait for a person to swap it
      ansible.builtin.pause:
        prompt: "Swap {{ node }} in {{ weft_rack }}, cable it as before, install its system; then press return"
      when: not (swapped | default(false) | bool)

- name: The new one has other hardware addresses, so what the old one's ports were called counts no more
  hosts: "{{ node | default('nobody') }}"
  become: true
  gather_facts: false
  tasks:
    - name: Wait for it
      ansible.builtin.wait_for_connection:
        timeout: 1800
    - name: Forget
      ansible.builtin.file:
        path: "{{ item }}"
        state: absent
      loop: [/etc/weft/nics.tsv, /etc/udev/rules.d/70-weft-net.rules]

- name: Firmware
  ansible.builtin.import_playbook: firmware.yml
- name: Operating system
  ansible.builtin.import_playbook: os-baseline.yml
- name: Ports
  ansible.builtin.import_playbook: nics.yml
- name: Storage
  ansible.builtin.import_playbook: storage-clients.yml
- name: Tests
  ansible.builtin.import_playbook: acceptance.yml

- name: It comes into service
  hosts: "{{ node | default('nobody') }}"
  gather_facts: false
  tasks:
    - name: Back into service
      ansible.builtin.import_tasks: tasks/node-back.yml
)yaml";

constexpr std::string_view kMunge = R"yaml(
- name: A new key is at hand
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Its file is named
      ansible.builtin.assert:
        that: lookup('ansible.builtin.env', 'WEFT_MUNGE_KEY_FILE') | length > 0
        fail_msg: WEFT_MUNGE_KEY_FILE names the file of the new key (mungekey --create --keyfile FILE).

# Daemons with the old key do not understand those with the new one: all change together, running jobs go on.
- name: Put the new key beside the old one everywhere
  hosts: slurm_nodes:controllers:role_login
  become: true
  gather_facts: false
  any_errors_fatal: true
  tasks:
    - name: Copy
      ansible.builtin.copy:
        src: "{{ lookup('ansible.builtin.env', 'WEFT_MUNGE_KEY_FILE') }}"
        dest: /etc/munge/munge.key.new
        mode: "{{ weft_munge_key_mode }}"
        owner: munge
        group: munge
      no_log: true

- name: Change over
  hosts: slurm_nodes:controllers:role_login
  become: true
  gather_facts: false
  any_errors_fatal: true
  tasks:
    - name: Swap and restart
      ansible.builtin.shell: >-
        mv -f /etc/munge/munge.key.new /etc/munge/munge.key && systemctl restart munge
      changed_when: true
    - name: It answers
      ansible.builtin.shell: munge -n | unmunge
      changed_when: false

- name: Controllers and nodes understand each other
  hosts: controllers
  become: true
  gather_facts: false
  tasks:
    - name: The controller answers
      ansible.builtin.command: scontrol ping
      changed_when: false
)yaml";

constexpr std::string_view kBackupOob = R"yaml(
- name: Keep what the out-of-band switches run
  hosts: fabric_oob:&switches
  gather_facts: false
  tasks:
    - name: Copy it
      ansible.builtin.import_tasks: tasks/backup-switch.yml

- name: Keep the history
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: The folder is a repository
      ansible.builtin.command:
        argv: [git, -C, "{{ weft_backup }}", init, --quiet]
        creates: "{{ weft_backup }}/.git"
    - name: Record what changed
      ansible.builtin.shell: >-
        git add --all . && (git diff --cached --quiet || git -c user.name=weft -c user.email=weft@localhost
        commit --quiet --message 'Configuration of out-of-band switches' && echo recorded)
      args:
        chdir: "{{ weft_backup }}"
      register: weft_recorded
      changed_when: "'recorded' in weft_recorded.stdout"
)yaml";

constexpr auto kNothing = PlaybookNeeds::nothing;
constexpr std::array<PlaybookText, 7> kRunbooks = {{
    {"node-drain.yml", "Takes a node out of service, or back.", kNothing, kNodeDrain},
    {"gpu-reset.yml", "Resets the GPUs of a node.", PlaybookNeeds::gpus, kGpuReset},
    {"fabric-failover.yml", "Drill: drains a spine, verifies that nobody notices, lets traffic back.", kNothing,
     kFailover},
    {"tasks/probe-rails.yml", "Every rail reaches its gateway with full frames.", kNothing, kProbe},
    {"replace-node.yml", "Puts a new machine in a node's place.", kNothing, kReplace},
    {"rotate-munge-key.yml", "Gives all of Slurm a new MUNGE key.", PlaybookNeeds::slurm, kMunge},
    {"backup-oob-switches.yml", "Keeps copies of what the out-of-band switches run, with their history.",
     PlaybookNeeds::oob_backup, kBackupOob},
}};

}  // namespace

std::span<const PlaybookText> ansible_runbooks() { return kRunbooks; }

}  // namespace weft::render
