output "door" {
  description = "The address by which the region is entered."
  value       = local.door
}

output "addresses" {
  description = "The addresses of all instances by name."
  value       = { for name, instance in cloud_instance.this : name => instance.address }
}

output "zones" {
  description = "The region's zones."
  value       = data.cloud_region.this.zones
}

output "admin_passwords" {
  description = "The administrators' passwords by instance."
  value       = { for name, instance in cloud_instance.this : name => instance.password }
  sensitive   = true
}
