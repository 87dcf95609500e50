module "n" {
  source = "./n"
}
output "n" {
  value = module.n
}
