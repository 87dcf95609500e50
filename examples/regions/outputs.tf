output "doors" {
  description = "The address of the first instance of each region."
  value       = { for name, region in module.region : name => region.door }
}

output "instances" {
  description = "How many instances each region has."
  value       = { for name, region in module.region : name => length(region.addresses) }
}

output "zones" {
  description = "The zones of each region."
  value       = { for name, region in module.region : name => region.zones }
}

output "admin_passwords" {
  description = "The administrators' passwords by region and instance."
  value       = { for name, region in module.region : name => region.admin_passwords }
  sensitive   = true
}
