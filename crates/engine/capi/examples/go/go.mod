module nanopace

go 1.19
