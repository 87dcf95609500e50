module "m" {
 source="./m"
}
module "n" {
 source="./n"
 depends_on=[module.m.o]
}
output "t" {
 value=module.n.v
}
