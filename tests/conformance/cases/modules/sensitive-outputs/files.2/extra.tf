module "c" {
  source = "./b"
  in     = "x"
}
output "leak" {
  value = module.c.obj
}
output "leak2" {
  value = [module.c.len]
}
