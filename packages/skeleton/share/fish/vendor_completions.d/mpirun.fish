source (status dirname)/serried.fish
