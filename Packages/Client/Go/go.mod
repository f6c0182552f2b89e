module headgate

go 1.19
