#!/bin/sh
# Datasets of the flash system, over both storage rails.
nvme connect --transport=tcp --traddr=10.70.48.2 --trsvcid=4420 --nqn=nqn.2024-01.com.example:datasets --tls
nvme connect --transport=tcp --traddr=10.71.48.2 --trsvcid=4420 --nqn=nqn.2024-01.com.example:datasets --tls
