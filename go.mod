module psafe

go 1.26
