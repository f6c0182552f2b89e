module example.org/headgate

go 1.19
