module certified

go 1.19

require headgate v1.0.0

replace headgate => ../../../../Packages/Client/Go
