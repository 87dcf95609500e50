module "m" {
  source = "./m"
  size   = 2
}
output "o" {
  value = module.m.o
}
