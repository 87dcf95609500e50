module "a" { source = "./k" }
module "z" { source = "./k/m/n" }
module "zz" { source = "./k/m" }
output "objects" { value = tomap({ a = { x = 1 }, b = { x = 2 } }) }
output "lists" { value = tomap({ a = [1], b = [2] }) }
