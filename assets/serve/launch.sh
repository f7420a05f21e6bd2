# Rendezvous of a task for torchrun and for Indexed Jobs, from the variables of the engine; then the program itself.
export PET_NNODES="$WORLD_SIZE" PET_NODE_RANK="$RANK"
export PET_MASTER_ADDR="$MASTER_ADDR" PET_MASTER_PORT="$MASTER_PORT"
export JOB_COMPLETION_INDEX="$RANK"
exec "$@"
